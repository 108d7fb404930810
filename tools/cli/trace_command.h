// `latchkey trace`: what a trace of fixes tells.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/output.h"

namespace latchkey {

inline constexpr const char* kTraceInfoSchema = "latchkey.trace-info/1";
inline constexpr const char* kTraceDepthSchema = "latchkey.trace-depth/1";
inline constexpr const char* kTraceSkewSchema = "latchkey.trace-skew/1";

/// The texts of the flags; each list is comma-separated.
struct TraceFlags {
  std::string file;
  std::string trees = "all";           ///< names; all: the trees together; each: one after another
  std::string objects = "all";         ///< all, data, index
  std::string users = "all";           ///< the first N users; all
  std::string fixes_per_user = "all";  ///< the first N fixes of each; all
  std::string sizes = "1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,20000,50000,100000";
  std::string shares = "1,2,5,10,20,50";  ///< percent of the pages
  OutputFlags output;
};

/// Each function prints one kind of rows. Returns the exit code.
/// Counts of fixes by tree, object and kind (Table 3.3).
int TraceInfoCommand(const TraceFlags& flags);
/// The hit ratio of LRU by the number of pages, from the stack depths (Figures 3.8 to 3.14).
int TraceDepthCommand(const TraceFlags& flags);
/// The share of the fixes that the hottest pages get.
int TraceSkewCommand(const TraceFlags& flags);

/// The columns of their tables.
std::vector<Column> TraceInfoColumns();
std::vector<Column> TraceDepthColumns();
std::vector<Column> TraceSkewColumns();

}  // namespace latchkey
