// Adds the counts of one part of a run to those of the whole, by a list of members.
#pragma once

#include <concepts>
#include <vector>

namespace latchkey {

inline void AddCount(std::unsigned_integral auto from, std::unsigned_integral auto* to) {
  *to += from;
}
template <typename Item>
void AddCount(const std::vector<Item>& from, std::vector<Item>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

/// Adds each of the members of `from` to that of `to`: numbers are summed, lists are joined.
/// AddMembers<&Counts::runs, &Counts::wrong>(part, &total).
template <auto... kMembers, typename Counts>
void AddMembers(const Counts& from, Counts* to) {
  (AddCount(from.*kMembers, &(to->*kMembers)), ...);
}

}  // namespace latchkey
