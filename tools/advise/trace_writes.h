// What a recorded trace tells about page writes: which requests reach the store behind a cache, and how
// unevenly they write the pages. A sample keeps the requests of some of the pages, few enough to replay
// in seconds.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "tools/layout_model/write_distribution.h"
#include "tools/trace/page_trace.h"

namespace latchkey {

/// The requests of `trace` that an LRU cache with write-back lets through, in their order. `frames`:
/// pages of the cache, which begins empty; 0: there is no cache, and all requests pass. Pages that
/// are dirty in the cache at the end are not written.
PageTrace BehindCache(const PageTrace& trace, uint32_t frames);

struct TraceWrites {
  uint64_t traced_pages = 0;   ///< different pages of the trace
  uint64_t pages = 0;          ///< of the store: those of the trace, and more if the caller says so
  uint64_t written_pages = 0;  ///< different ones
  uint64_t reads = 0, writes = 0;  ///< page requests to the store
  /// w(h) with the pages ranked by all writes of the trace. Of few writes per page it shows skew
  /// that is only chance.
  std::shared_ptr<const CountedWrites> in_hindsight;
  /// w(h) of the second half of the writes, with the pages ranked by the first half. It is what a
  /// store can know, and what the model gets.
  std::shared_ptr<const CountedWrites> foreseen;

  double reads_per_write() const {
    return static_cast<double>(reads) / static_cast<double>(writes);
  }
  /// Of the trace.
  double writes_per_page() const {
    return static_cast<double>(writes) / static_cast<double>(traced_pages);
  }
};

/// Below this, a trace has hardly begun to write pages again.
inline constexpr double kFewestWritesPerPage = 4;

/// `pages`: of the store, if they are more than those of the trace. REQUIRES: two requests or more
/// of `requests` write.
TraceWrites CountWrites(const PageTrace& requests, uint64_t pages);

/// The requests of about `pages` pages, chosen at random by `seed`; all if the trace has no more.
/// Renumbered from 0 in the order of their first request.
PageTrace SamplePages(const PageTrace& requests, uint64_t pages, uint64_t seed);

}  // namespace latchkey
