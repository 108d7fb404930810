// A history of list-append transactions. Each element is appended only once, so a list that is read
// from a key shows which appends the reader saw, and in which order.
//
// Source: Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
// Observations" (2020).
#pragma once

#include <cstdint>
#include <vector>

namespace latchkey {

/// Unique over all keys of a history.
using Element = uint64_t;

struct ListOperation {
  bool is_append = false;
  uint32_t key = 0;
  Element element = 0;        ///< appended
  std::vector<Element> list;  ///< read; empty: no such key, or nothing appended yet
};

struct ListTransaction {
  bool committed = false;
  bool serializable = false;  ///< ran under serializable isolation
  std::vector<ListOperation> operations;

  // Reported by the engine; 0: not reported.
  uint64_t read_ts = 0;    ///< it saw the commits up to here
  uint64_t commit_ts = 0;  ///< 0: it wrote nothing
};

using ListHistory = std::vector<ListTransaction>;

}  // namespace latchkey
