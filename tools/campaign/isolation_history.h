// A history of list-append transactions: each element is appended once in its life, so that a list
// read from a key tells which appends it has seen, and in which order.
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
  bool serializable = false;  ///< was promised it
  std::vector<ListOperation> operations;

  // What the engine says about itself; 0 when it does not.
  uint64_t read_ts = 0;    ///< it saw the commits up to here
  uint64_t commit_ts = 0;  ///< 0: it wrote nothing
};

using ListHistory = std::vector<ListTransaction>;

}  // namespace latchkey
