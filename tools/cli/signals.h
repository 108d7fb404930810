// SIGINT and SIGTERM set a flag that runs and loads read.
#pragma once

#include <atomic>

namespace latchkey {

/// Installs the handlers. A third signal kills the process at once.
void InstallStopSignals();

/// Set by the first signal.
const std::atomic<bool>& StopRequested();

}  // namespace latchkey
