// The build and the machine of a measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// version, revision (git describe at the time of the build), compiler, type, sanitizers, libraries
/// (name and version of those on which figures may depend, the rivals included).
Json DescribeBuild();

/// Memory of this machine, bytes; nullopt: the system does not report it.
std::optional<uint64_t> PhysicalMemoryBytes();

/// cpu, cores, memory_bytes, kernel, and the file system that holds `path` (or its nearest existing
/// parent): file_system (type) and direct_io. null: the system does not report it.
Json DescribeHost(const std::string& path);

/// Whether a file in the directory `path` can be opened with O_DIRECT. nullopt: no file can be
/// created there.
std::optional<bool> SupportsDirectIo(const std::string& path);

/// Reasons why figures of this build are not comparable: unoptimised, debug checks, sanitizers.
std::vector<std::string> BuildWarnings();

}  // namespace latchkey
