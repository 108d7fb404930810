// The pages that the queries of the buffer papers' benchmarks read: values of `--accesses=`.
#pragma once

#include <memory>

#include "tools/contention/access_pattern.h"

namespace latchkey {

/// TPC-W's browsing mix (BP-Wrapper 5.1.2, DBT-1): interactions of an on-line bookstore, one after
/// the other, as reads of index and table pages. Items are chosen by Zipf's law with exponent
/// `skew` > 0, customers are equally frequent. A write of an interaction counts as a read. The
/// pages are divided as those of 100,000 items and 2.9 million customers.
std::unique_ptr<AccessStream> MakeBrowsingMix(const AccessPatternConfig& config, double skew);

/// TableScan (BP-Wrapper 5.1.2): queries, each of which reads one of `tables` >= 1 tables of one size
/// from its first page to its last, and draws the table. A thread begins in the middle of its
/// first query.
std::unique_ptr<AccessStream> MakeTableScans(const AccessPatternConfig& config, uint64_t tables);

/// The nested-loop index join of three tables (Thread-specific buffer, section 4; TPC-H's query 3):
/// each thread scans a part of the customers, and looks up the orders of a fifth of them, then the
/// items of each order. It begins again after its last customer.
std::unique_ptr<AccessStream> MakeIndexJoin(const AccessPatternConfig& config);

}  // namespace latchkey
