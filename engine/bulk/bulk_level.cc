#include "engine/bulk/bulk_level.h"

#include <utility>

#include "engine/btree/node.h"
#include "storage/base/check.h"

namespace latchkey {

bool BulkLevel::Fits(uint32_t prefix, size_t more_key, size_t more_bytes) const {
  const size_t short_of = prefix + node_format::kHeadSize;  // bytes of a key that are in no tail
  size_t tails = 0;
  if (shortest_key_ >= short_of) {
    tails = entries_.empty() ? 0 : key_bytes_ - entries_.size() * short_of;
  } else {
    for (const Place& place : entries_) tails += std::max<size_t>(place.key_size, short_of) - short_of;
  }
  if (more_bytes > 0) tails += std::max(more_key, short_of) - short_of;
  return prefix + tails + other_bytes_ + more_bytes <= limit_;
}

size_t BulkLevel::EntriesToClose(const BulkEntry& next) const {
  if (entries_.empty()) return 0;
  const uint32_t prefix = CommonPrefixLength(lower_, next.key);
  if (!Fits(prefix, 0, 0)) return entries_.size() - 1;
  return Fits(prefix, next.key.size(), HeaderSize() + next.value.size()) ? 0 : entries_.size();
}

void BulkLevel::Add(const BulkEntry& entry) {
  entries_.push_back({.begin = bytes_.size(),
                      .key_size = static_cast<uint32_t>(entry.key.size()),
                      .value_size = static_cast<uint32_t>(entry.value.size()),
                      .flags = entry.flags,
                      .child = entry.child});
  bytes_.append(entry.key);
  bytes_.append(entry.value);
  key_bytes_ += entry.key.size();
  other_bytes_ += HeaderSize() + entry.value.size();
  shortest_key_ = std::min(shortest_key_, entry.key.size());
}

void BulkLevel::FillPage(size_t count, std::optional<std::string_view> upper, std::byte* page,
                         uint32_t page_size) const {
  NodeEditor node(page, page_size);
  node.Init(level_, {.lower = lower_, .upper = upper});
  bool done = true;
  if (level_ == 0) {
    for (size_t i = 0; i < count; ++i) {
      const BulkEntry record = entry(i);
      done &= node.Insert(static_cast<uint32_t>(i), record.key, record.value, record.flags);
    }
  } else {
    node.SetRightmost(entry(0).child);
    for (size_t i = 1; i < count; ++i) {
      done &= node.InsertSeparator(static_cast<uint32_t>(i - 1), entry(i).key, entry(i - 1).child,
                                   entry(i).child);
    }
  }
  LATCHKEY_CHECK(done);
}

void BulkLevel::Remove(size_t count, std::string lower) {
  lower_ = std::move(lower);
  const std::vector<Place> left(entries_.begin() + static_cast<ptrdiff_t>(count), entries_.end());
  const std::string bytes = left.empty() ? std::string() : bytes_.substr(left.front().begin);
  const size_t removed = left.empty() ? 0 : left.front().begin;
  entries_.clear();
  bytes_.clear();
  key_bytes_ = other_bytes_ = 0;
  shortest_key_ = SIZE_MAX;
  for (const Place& place : left) {
    const char* const key = bytes.data() + (place.begin - removed);
    Add({.key = {key, place.key_size},
         .value = {key + place.key_size, place.value_size},
         .flags = place.flags,
         .child = place.child});
  }
}

}  // namespace latchkey
