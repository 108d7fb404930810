// Shrinks a failing list: leaves out halves, quarters and so on, as long as the rest still fails.
#pragma once

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace latchkey {

/// Returns a list that `fails`, made of elements of `list` in their order. No piece of the last
/// size tried can be left out. `fails` is called at most `most_calls` times. REQUIRES: fails(list).
template <typename Element>
std::vector<Element> ShrinkByHalving(std::vector<Element> list,
                                     absl::FunctionRef<bool(const std::vector<Element>&)> fails,
                                     int most_calls = 400) {
  for (size_t piece = (list.size() + 1) / 2; piece > 0; piece /= 2) {
    for (size_t at = 0; at < list.size();) {
      if (most_calls-- <= 0) return list;
      std::vector<Element> without(list.begin(), list.begin() + static_cast<ptrdiff_t>(at));
      const size_t after = std::min(list.size(), at + piece);
      without.insert(without.end(), list.begin() + static_cast<ptrdiff_t>(after), list.end());
      if (fails(without)) {
        list = std::move(without);
      } else {
        at += piece;
      }
    }
  }
  return list;
}

}  // namespace latchkey
