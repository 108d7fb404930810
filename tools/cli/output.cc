#include "tools/cli/output.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/invocation.h"
#include "tools/cli/report_command.h"
#include "tpcc-lite/report/csv.h"
#include "tpcc-lite/report/measured_run.h"
#include "tpcc-lite/report/steadiness.h"

namespace latchkey {

std::string PartialOf(const std::string& where) { return where + ".partial"; }

bool CanBeRenamedTo(const std::string& where) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(where, error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

namespace {

/// The warnings of all rows, each once, in the order of their first row.
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

Json DocumentOf(const Results& results) {
  Json document = {{"schema", std::string(results.schema)}};
  if (const std::optional<Invocation>& invocation = CurrentInvocation()) {
    document["started_at"] = invocation->started_at;
    document["argv"] = invocation->argv;
    document["flags"] = invocation->flags;
  }
  document.update(MakeDocument(results.schema, results.database_path, results.rows));
  if (results.interrupted) {
    document["interrupted"] = true;
    document["combinations_not_run"] = results.not_run;
  }
  return document;
}

std::string NotRun(const Results& results) {
  if (results.not_run == 0) return "";
  return fmt::format("; {} of {} combinations were not run", results.not_run,
                     results.not_run + results.rows.size());
}

absl::Status WriteStdout(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return absl::OkStatus();
  return FileFailure("write the results to", "stdout", errno);
}

/// 0, or the errno.
int WriteFile(const std::string& where, const std::string& text) {
  errno = 0;
  std::ofstream out(where, std::ios::trunc);
  out << text;
  out.close();
  if (out.good()) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

size_t TableWidth() {
  winsize window{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 ||
      window.ws_col == 0) {
    return kTableWidth;
  }
  return std::clamp<size_t>(window.ws_col, kNarrowestTable, kWidestTable);
}

std::string JsonFileText(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

absl::Status WriteTextFile(const std::string& where, const std::string& text) {
  if (where == "-") return WriteStdout(text);
  const bool rename = CanBeRenamedTo(where);
  std::error_code error;
  int errnum = WriteFile(rename ? PartialOf(where) : where, text);
  if (errnum == 0 && rename) {
    std::filesystem::rename(PartialOf(where), where, error);
    errnum = error.value();
  }
  if (errnum == 0) return absl::OkStatus();
  if (rename) std::filesystem::remove(PartialOf(where), error);
  return FileFailure("write the results to", where, errnum);
}

absl::Status CheckOutputFile(std::string_view flag, const std::string& where) {
  if (where.empty() || where == "-") return absl::OkStatus();
  // The file of an earlier run stays until this run has results.
  const std::string tried = CanBeRenamedTo(where) ? PartialOf(where) : where;
  const bool good = std::ofstream(tried, std::ios::app).good();
  const int errnum = good ? EISDIR : errno;
  std::error_code error;
  if (tried != where) std::filesystem::remove(tried, error);
  if (good && !std::filesystem::is_directory(where, error)) return absl::OkStatus();
  return InvalidArgument("--{}={}: {}", flag, where,
                         std::string(FileFailure("write", tried, errnum).message()));
}

absl::Status CheckOutputs(const OutputFlags& flags) {
  const std::pair<const char*, const std::string*> files[] = {
      {"json", &flags.json}, {"csv", &flags.csv}, {"report", &flags.report}};
  const char* on_stdout = nullptr;
  for (const auto& [flag, where] : files) {
    if (*where == "-") {
      if (on_stdout != nullptr) {
        return InvalidArgument("--{}=- and --{}=-: only one of them can have stdout", on_stdout,
                               flag);
      }
      on_stdout = flag;
    }
    LATCHKEY_RETURN_IF_ERROR(CheckOutputFile(flag, *where));
  }
  return absl::OkStatus();
}

absl::Status WriteResults(const OutputFlags& flags, const Results& results) {
  const std::vector<std::string> warnings = AllWarnings(results.rows);
  const bool for_people = flags.json != "-" && flags.csv != "-" && flags.report != "-";
  if (for_people) {
    const size_t width = TableWidth();
    std::string text = ToTable(results.rows, results.columns, width);
    for (const std::string& line : DescribeUnsteady(results.rows, results.columns)) {
      text += '\n' + WrapText("NOT STEADY: " + line, width, 2);
    }
    for (const std::string& warning : warnings) {
      text += '\n' + WrapText("WARNING: " + warning, width, 2);
    }
    if (results.interrupted) text += "\nINTERRUPTED: these are partial results" + NotRun(results);
    if (text.back() != '\n') text += '\n';
    LATCHKEY_RETURN_IF_ERROR(WriteStdout(text));
  } else {
    for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  }
  const Json document = DocumentOf(results);
  if (!flags.json.empty()) {
    LATCHKEY_RETURN_IF_ERROR(WriteTextFile(flags.json, JsonFileText(document)));
  }
  if (!flags.report.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(const std::string page, ReportPageOf("this run", document));
    LATCHKEY_RETURN_IF_ERROR(WriteTextFile(flags.report, page));
  }
  if (!flags.csv.empty()) LATCHKEY_RETURN_IF_ERROR(WriteTextFile(flags.csv, ToCsv(results.rows)));
  return absl::OkStatus();
}

}  // namespace latchkey
