// Where results go: a table for people on stdout, JSON and CSV for programs.
#pragma once

#include <absl/status/status.h>

#include <span>
#include <string>
#include <string_view>

#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

/// Empty: not wanted. "-": to stdout, in place of the table.
struct OutputFlags {
  std::string json;
  std::string csv;
};

/// InvalidArgument when both want stdout, or a file cannot be created: asked before a run, so that
/// its results have where to go.
absl::Status CheckOutputs(const OutputFlags& flags);

struct Results {
  std::string_view schema;
  std::string database_path;  ///< whose file system the document describes
  std::span<const Json> rows;
  std::span<const Column> columns;
  bool interrupted = false;
};

/// Writes the table (with the warnings of all rows below it) or what stands in its place, and the
/// files. Warnings go to stderr as well when stdout belongs to a program.
absl::Status WriteResults(const OutputFlags& flags, const Results& results);

}  // namespace latchkey
