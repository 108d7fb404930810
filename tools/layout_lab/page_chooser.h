// The skewed choices of pages that the laboratory's workloads are made of: which page comes next.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/base/rng.h"

namespace latchkey {

/// Not thread-safe.
class PageChooser {
 public:
  virtual ~PageChooser() = default;
  /// The next page, below the number of pages.
  virtual uint64_t Next(Rng& rng) = 0;
};

/// All pages alike.
std::unique_ptr<PageChooser> NewUniformPages(uint64_t pages);
/// `write_percent` % of the choices go to `page_percent` % of the pages; within each of the two
/// parts all pages are alike (the hot-cold workload of LFS). At least one page is hot.
std::unique_ptr<PageChooser> NewHotColdPages(uint64_t pages, double write_percent,
                                             double page_percent, uint64_t seed);
/// Knuth's self-similar law: the share h of the pages, the hottest ones, gets the share h^theta of
/// the choices, and `page_percent` % of the pages get `write_percent` %. REQUIRES: both are between
/// 0 and 100, and write_percent >= page_percent.
std::unique_ptr<PageChooser> NewKnuthPages(uint64_t pages, double write_percent,
                                           double page_percent, uint64_t seed);
/// Zipf with exponent `theta` over pages in random order.
std::unique_ptr<PageChooser> NewZipfPages(uint64_t pages, double theta, uint64_t seed);
/// As NewHotColdPages, with a hot set of adjacent pages that moves on steadily: after `lap` choices
/// per page of the store it has passed over all pages once.
std::unique_ptr<PageChooser> NewMovingHotSet(uint64_t pages, double write_percent,
                                             double page_percent, double lap);
/// TPC-C's NURand over the rows of the pages, `rows` a page, in the order of their keys, with the
/// proportion of the standard's items: NURand(8191, 1, 100000). REQUIRES: pages * rows is at most
/// kMostNuRandRows.
inline constexpr uint64_t kMostNuRandRows = uint64_t{1} << 31;
std::unique_ptr<PageChooser> NewNuRandPages(uint64_t pages, uint64_t rows, uint64_t seed);

}  // namespace latchkey
