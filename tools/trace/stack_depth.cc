#include "tools/trace/stack_depth.h"

#include <algorithm>

namespace latchkey {

void StackDepths::Mark(uint32_t slot, int32_t by) {
  for (; slot < sums_.size(); slot += slot & -slot) sums_[slot] += by;
}

uint32_t StackDepths::UsedUpTo(uint32_t slot) const {
  int32_t used = 0;
  for (; slot > 0; slot -= slot & -slot) used += sums_[slot];
  return static_cast<uint32_t>(used);
}

void StackDepths::Renumber() {
  std::vector<uint32_t> pages;
  pages.reserve(newest_.size());
  for (uint32_t slot = 1; slot < next_; ++slot) {
    const uint32_t page = page_at_[slot];
    uint32_t& newest = newest_.at(page);
    if (newest != slot) continue;
    pages.push_back(page);
    newest = static_cast<uint32_t>(pages.size());
  }
  const size_t slots = std::max<size_t>(1024, 2 * pages.size() + 1);
  page_at_.assign(slots, 0);
  sums_.assign(slots, 0);
  std::copy(pages.begin(), pages.end(), page_at_.begin() + 1);
  next_ = static_cast<uint32_t>(pages.size()) + 1;
  for (uint32_t slot = 1; slot < next_; ++slot) Mark(slot, 1);
}

void StackDepths::Reference(uint32_t page) {
  if (next_ >= page_at_.size()) Renumber();
  ++references_;
  const auto [entry, first] = newest_.try_emplace(page, next_);
  if (!first) {
    const uint32_t depth = static_cast<uint32_t>(newest_.size()) - UsedUpTo(entry->second);
    if (depth >= counts_.size()) counts_.resize(depth + 1);
    ++counts_[depth];
    Mark(entry->second, -1);
    entry->second = next_;
  }
  page_at_[next_] = page;
  Mark(next_++, 1);
}

double StackDepths::HitRatio(uint64_t pages) const {
  if (references_ == 0) return 0;
  uint64_t hits = 0;
  const size_t end = std::min<uint64_t>(pages, counts_.size());
  for (size_t depth = 0; depth < end; ++depth) hits += counts_[depth];
  return static_cast<double>(hits) / static_cast<double>(references_);
}

}  // namespace latchkey
