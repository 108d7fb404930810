// Finds anomalies in a history of list appends and uses no data that the engine reports about
// itself. A look-up finds dirty reads; all other anomalies are cycles in the graph of direct
// dependencies.
//
//   ww   appended directly before        wr   appended what was read last
//   rw   read a list directly before an element was appended to it
//
//   G0 a cycle of ww; G1a an aborted append was read; G1b an append was read that its transaction
//   followed by another to the same key; G1c a cycle of ww and wr; G-single a cycle with exactly
//   one rw; G2 one with several.
//
// Sources: Adya, Liskov, O'Neil, "Generalized Isolation Level Definitions" (2000); cycles in the
// strongly connected components of Tarjan (1972).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/campaign/isolation/isolation_history.h"

namespace latchkey {

enum class Anomaly {
  kMalformed,  ///< an element twice, or one that no transaction appended
  kInternal,   ///< a transaction did not see its own appends, or saw a key change
  kForked,     ///< two reads of a key of which neither is the beginning of the other
  kLost,       ///< a committed append is missing in the longest list
  kG0,
  kG1a,
  kG1b,
  kG1c,
  kGSingle,
  kG2,
};
const char* NameOf(Anomaly anomaly);

struct FoundAnomaly {
  Anomaly kind;
  std::string what;  ///< the transactions and keys, as text
};

struct CheckerResult {
  std::vector<FoundAnomaly> found;  ///< at most one per kind and component
  size_t transactions = 0, edges = 0;
  bool Has(Anomaly kind) const;
};

/// All anomalies of the history. The last transaction should read every key; otherwise the last
/// appends of each key have no order.
CheckerResult CheckHistory(const ListHistory& history);

/// The anomalies that the isolation of the transactions excludes: all under serializability, all
/// but G2 under snapshot isolation. G2 counts if every transaction of its component that wrote was
/// serializable.
CheckerResult CheckPromises(const ListHistory& history);

}  // namespace latchkey
