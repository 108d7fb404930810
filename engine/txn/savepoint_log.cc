#include "engine/txn/savepoint_log.h"

#include <algorithm>

#include "storage/base/canary.h"
#include "storage/base/check.h"

namespace latchkey {

std::optional<size_t> SavepointLog::Find(uint64_t id) const {
  const auto found = std::lower_bound(points_.begin(), points_.end(), id,
                                      [](const Point& point, uint64_t i) { return point.id < i; });
  if (found == points_.end() || found->id != id) return std::nullopt;
  return static_cast<size_t>(found - points_.begin());
}

void SavepointLog::Reserve() {
  if (points_.empty()) return;
  if (changes_.size() == changes_.capacity()) changes_.reserve(2 * changes_.size() + 1);
}

bool SavepointLog::Save(VersionEntry& entry, bool was_written, RecordState state,
                        std::string_view bytes) {
  if (points_.empty()) return false;
  Reserve();
  if (entry.saved_for == points_.back().id) return false;
  SavedChange change{.entry = &entry,
                     .tree = entry.tree,
                     .was_written = was_written,
                     .state = state,
                     .bytes = was_written ? std::string(bytes) : std::string(),
                     .saved_before = entry.saved_for,
                     .as_of = points_.back().as_of};
  entry.saved_for = points_.back().id;
  saved_bytes_ += change.bytes.size();
  changes_.push_back(std::move(change));
  return true;
}

const SavedChange* SavepointLog::NewestSince(uint64_t id) const {
  const std::optional<size_t> point = Find(id);
  LATCHKEY_CHECK(point.has_value());
  const size_t kept = LATCHKEY_CANARY("savepoint-off-by-one") ? 1 : 0;
  return changes_.size() > points_[*point].first_change + kept ? &changes_.back() : nullptr;
}

void SavepointLog::Pop() {
  const SavedChange& change = changes_.back();
  change.entry->saved_for = change.saved_before;
  saved_bytes_ -= change.bytes.size();
  changes_.pop_back();
}

void SavepointLog::DropAfter(uint64_t id) {
  const std::optional<size_t> point = Find(id);
  LATCHKEY_CHECK(point.has_value());
  points_.resize(*point + 1);
}

size_t SavepointLog::bytes() const {
  return saved_bytes_ + changes_.capacity() * sizeof(SavedChange) +
         points_.capacity() * sizeof(Point);
}

}  // namespace latchkey
