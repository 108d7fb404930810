// Writes results: a table on stdout, JSON and CSV for programs.
#pragma once

#include <absl/status/status.h>

#include <span>
#include <string>
#include <string_view>

#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

/// Empty: not written. "-": to stdout, in place of the table.
struct OutputFlags {
  std::string json;
  std::string csv;
  std::string report;  ///< an HTML page (tools/report)
};

/// Called before a run. InvalidArgument: two want stdout, or a file cannot be created. Leaves no
/// file behind.
absl::Status CheckOutputs(const OutputFlags& flags);
/// The same for one file. "" and "-" are good.
absl::Status CheckOutputFile(std::string_view flag, const std::string& where);
/// Whether a rename can replace `path`: a regular file, or no file yet. Not /dev/null, not a pipe.
bool CanBeRenamedTo(const std::string& where);

/// The name of the file `where` until it is complete.
std::string PartialOf(const std::string& where);

/// Columns of the tables on stdout: those of the terminal, from kNarrowestTable to kWidestTable.
/// kTableWidth if stdout is no terminal, so that files and pipes do not depend on a window.
size_t TableWidth();
inline constexpr size_t kNarrowestTable = 40;
inline constexpr size_t kWidestTable = 200;

/// Writes `text` to the file `where`, or to stdout if that is "-". The file appears as a whole: it
/// is written as PartialOf(where) and then renamed.
absl::Status WriteTextFile(const std::string& where, const std::string& text);

/// `document` as a JSON file. A byte that is not UTF-8 (of a file's name, say) becomes U+FFFD.
std::string JsonFileText(const Json& document);

struct Results {
  std::string_view schema;
  std::string database_path;  ///< whose file system the document describes
  std::span<const Json> rows;
  std::span<const Column> columns;
  bool interrupted = false;
  size_t not_run = 0;  ///< combinations without a row, because they were never begun
};

/// Writes the table (with the warnings of all rows below it) or the format that replaces it, and
/// the files (WriteTextFile). If stdout has no table, the warnings go to stderr.
absl::Status WriteResults(const OutputFlags& flags, const Results& results);

}  // namespace latchkey
