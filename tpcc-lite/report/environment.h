// What a result was measured with: this build and this machine.
#pragma once

#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// version, revision (git describe when the build was configured), compiler, type, sanitizers.
Json DescribeBuild();

/// cpu, cores, memory_bytes, kernel, and the file system that holds `path` (or its nearest existing
/// parent): file_system (type) and direct_io. What the system does not tell is null.
Json DescribeHost(const std::string& path);

/// Whether a file in the directory `path` can be opened with O_DIRECT. False as well when no file
/// can be created there.
bool SupportsDirectIo(const std::string& path);

/// Why figures of this build are not comparable: unoptimised, with debug checks, with sanitizers.
std::vector<std::string> BuildWarnings();

}  // namespace latchkey
