// What the input of the verb advise tells: a trace, a database, or a database with a trace of its
// page requests.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/advise_command.h"
#include "tools/layout_model/write_distribution.h"
#include "tools/trace/page_trace.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

/// The persisted state of a database, opened read-only.
struct DatabaseFacts {
  uint32_t page_bytes = 0;
  std::string layout = {};  ///< that wrote it last, as its superblock says
  uint64_t live_bytes = 0, file_bytes = 0;
  double space_utilization = 0;
  std::optional<double> eta;  ///< segment I/O efficiency, as its store measured it
  bool has_log = false;

  uint64_t pages() const { return live_bytes / page_bytes; }
};

struct AdviseInput {
  std::optional<DatabaseFacts> database;
  std::string trace_path;     ///< empty: there is no trace
  PageTrace requests;         ///< of the trace, behind the cache
  uint32_t cache_frames = 0;  ///< pages of that cache; 0: none
  uint32_t page_bytes = 0;    ///< that the input names; 0: it names none
  /// Without a trace: the distributions to advise for, and the reads beside each write.
  std::vector<WriteDistribution> distributions;
  double reads_per_write = 0;
};

/// Reads the input. InvalidArgument names the flag, the value, the allowed values and the remedy:
/// a flag that would be ignored; a trace without writes or with less than two; an empty database.
/// NotFound: there is no such file. Other errors: those of traces (page_trace.h) and of databases.
absl::StatusOr<AdviseInput> ReadAdviseInput(const AdviseFlags& flags);

/// One or two sentences.
std::string DescribeInput(const AdviseFlags& flags, const AdviseInput& input);
/// What the database tells; null: there is none.
Json JsonOf(const std::optional<DatabaseFacts>& database);

}  // namespace latchkey
