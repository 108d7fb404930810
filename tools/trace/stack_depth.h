// LRU stack depth (thesis 3.2.3): of each reference, the number of other pages that were referenced
// since the last reference to its page; infinite for the first one. By Mattson's argument LRU with
// x pages hits exactly the references of a depth below x (Mattson et al., IBM Systems Journal 1970).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

namespace latchkey {

/// The depths of a sequence of references. O(log n) each for n different pages, 24 bytes a page.
/// Not thread-safe.
class StackDepths {
 public:
  /// The next reference is to `page`.
  void Reference(uint32_t page);

  uint64_t references() const { return references_; }
  uint64_t unique_pages() const { return newest_.size(); }
  /// References of infinite depth are first references.
  double FiniteShare() const { return HitRatio(UINT64_MAX); }
  /// The share of the references that LRU with `pages` pages hits; 0 without references.
  double HitRatio(uint64_t pages) const;
  /// Of each finite depth, how many references have it.
  const std::vector<uint64_t>& counts() const { return counts_; }

 private:
  // Each page's newest reference has a slot, in the order of time. A Fenwick tree counts the slots
  // in use up to any slot.
  void Mark(uint32_t slot, int32_t by);
  uint32_t UsedUpTo(uint32_t slot) const;
  /// Gives the slots in use the lowest numbers, and makes room for as many again.
  void Renumber();

  absl::flat_hash_map<uint32_t, uint32_t> newest_;  // page -> slot, from 1
  std::vector<uint32_t> page_at_;                   // by slot
  std::vector<int32_t> sums_;                       // the Fenwick tree; index 0 is not used
  uint32_t next_ = 1;                               // slot
  uint64_t references_ = 0;
  std::vector<uint64_t> counts_;
};

}  // namespace latchkey
