// The commits of a history replayed in the order that the engine says it gave them: every read must
// show the state at its snapshot, and for a serializable transaction also the state right before
// its commit. Linear in the history; trusts the engine's timestamps, which isolation_checker.h does
// not.
#pragma once

#include <string>
#include <vector>

#include "tools/campaign/isolation_history.h"

namespace latchkey {

/// What does not fit, for people; empty: everything does.
std::vector<std::string> ReplayCommitOrder(const ListHistory& history);

}  // namespace latchkey
