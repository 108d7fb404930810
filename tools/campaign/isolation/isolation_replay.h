// Replays the commits of a history in the order that the engine reports. Every read must show the
// state at its snapshot. A read of a serializable transaction must also show the state right before
// its commit. Takes time linear in the history. Trusts the engine's timestamps, which
// isolation_checker.h does not use.
#pragma once

#include <string>
#include <vector>

#include "tools/campaign/isolation/isolation_history.h"

namespace latchkey {

/// The contradictions found, as messages; empty: none.
std::vector<std::string> ReplayCommitOrder(const ListHistory& history);

}  // namespace latchkey
