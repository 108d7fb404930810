// `latchkey cachesim`: page traces through the replacement algorithms, without a pool.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/cli/output.h"

namespace latchkey {

inline constexpr const char* kCacheSimSchema = "latchkey.cachesim/1";

/// The texts of the flags; each list is comma-separated.
struct CacheSimFlags {
  std::string traces;
  std::string replacement = "all";
  std::string sizes;  ///< pages, or a percentage of the trace's different pages
  std::string regions = "1";
  std::string seeds = "1";  ///< number of seeds for what depends on one
  std::string jobs = "0";   ///< 0: one per core
  OutputFlags output;
};

/// Replays every trace with every algorithm, size and number of regions, on all cores.
int CacheSimCommand(const CacheSimFlags& flags);

/// The table of its results.
std::span<const Column> CacheSimColumns();

}  // namespace latchkey
