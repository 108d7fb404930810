#include "tools/cli/output.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include "storage/base/status_macros.h"
#include "tpcc-lite/report/csv.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {
namespace {

/// The warnings of all rows, each once, in the order they first came.
std::vector<std::string> AllWarnings(std::span<const Json> rows) {
  std::vector<std::string> all;
  for (const Json& row : rows) {
    for (const Json& warning : row.at("warnings")) {
      const auto text = warning.get<std::string>();
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
    }
  }
  return all;
}

absl::Status WriteStdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return absl::OkStatus();
  return absl::UnavailableError("cannot write the results to stdout");
}

absl::Status WriteText(const std::string& where, const std::string& text) {
  if (where == "-") return WriteStdout(text);
  std::ofstream out(where, std::ios::trunc);
  out << text;
  out.close();
  if (out.good()) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kUnavailable, "cannot write the results to {}", where);
}

absl::Status CheckFile(std::string_view flag, const std::string& where) {
  if (where.empty() || where == "-") return absl::OkStatus();
  // Opened to append: what an earlier run wrote stays until this one has results.
  if (std::ofstream(where, std::ios::app).good()) return absl::OkStatus();
  return InvalidArgument("--{}={}: cannot be written; give a file in a folder that exists", flag,
                         where);
}

}  // namespace

absl::Status CheckOutputs(const OutputFlags& flags) {
  if (flags.json == "-" && flags.csv == "-") {
    return InvalidArgument("--json=- and --csv=-: only one of them can have stdout");
  }
  LATCHKEY_RETURN_IF_ERROR(CheckFile("json", flags.json));
  return CheckFile("csv", flags.csv);
}

absl::Status WriteResults(const OutputFlags& flags, const Results& results) {
  const std::vector<std::string> warnings = AllWarnings(results.rows);
  const bool for_people = flags.json != "-" && flags.csv != "-";
  if (for_people) {
    std::string text = ToTable(results.rows, results.columns);
    for (const std::string& warning : warnings) text += fmt::format("\nWARNING: {}", warning);
    if (results.interrupted) text += "\nINTERRUPTED: these are partial results";
    if (text.back() != '\n') text += '\n';
    LATCHKEY_RETURN_IF_ERROR(WriteStdout(text));
  } else {
    for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  }
  if (!flags.json.empty()) {
    Json document = MakeDocument(results.schema, results.database_path, results.rows);
    if (results.interrupted) document["interrupted"] = true;
    LATCHKEY_RETURN_IF_ERROR(WriteText(flags.json, document.dump(2) + '\n'));
  }
  if (!flags.csv.empty()) LATCHKEY_RETURN_IF_ERROR(WriteText(flags.csv, ToCsv(results.rows)));
  return absl::OkStatus();
}

}  // namespace latchkey
