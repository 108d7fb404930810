// `latchkey report` and `latchkey compare`: result files as a page, and against each other.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

struct ReportFlags {
  std::vector<std::string> files;  ///< as --json wrote them
  std::string out;                 ///< the page; - for stdout
};

/// Writes the page of the files. Returns the exit code.
int ReportCommand(const ReportFlags& flags);
/// Prints every file against the first; of one file, every row against the first. Returns the exit
/// code, which does not depend on what is faster.
int CompareCommand(const std::vector<std::string>& files);

/// The page of a document that this process made (--report of the measuring verbs).
absl::StatusOr<std::string> ReportPageOf(const std::string& name, const Json& document);

}  // namespace latchkey
