// The verb stat --watch: draws what a running program publishes of its database.
#pragma once

#include <string>

namespace latchkey {

/// `path`: the database, whose program has the option metrics-path=PATH/metrics.json, or another such file. Ends with
/// 0 when the program closes the database or a stop is requested. Refuses to run without a terminal at stderr.
int WatchCommand(const std::string& path);

}  // namespace latchkey
