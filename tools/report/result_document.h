// A result file, as --json of the measuring verbs writes it, read and checked.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/report/report_kind.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

struct ResultDocument {
  std::string name = {};  ///< its file
  const ReportKind* kind = nullptr;
  Json json = {};

  /// The rows, each an object.
  std::span<const Json> rows() const;
};

/// Reads `text`, the content of the file `name`. InvalidArgument, with the file and the remedy: not
/// JSON; without a schema or with one that is not in `kinds`; without results; or with a field of
/// another type than the reports and tables rely on.
absl::StatusOr<ResultDocument> ParseResultDocument(std::string name, std::string_view text,
                                                   std::span<const ReportKind> kinds);
/// The same of a document in memory.
absl::StatusOr<ResultDocument> CheckResultDocument(std::string name, Json json,
                                                   std::span<const ReportKind> kinds);

/// The finite number at `pointer`; nullopt: there is none.
std::optional<double> NumberAt(const Json& from, const std::string& pointer);
/// The text at `pointer`; `otherwise`: there is none.
std::string TextAt(const Json& from, const std::string& pointer, std::string otherwise = "");
/// The values of `figure` in the repetitions of `row`; its value in the row if the row has no
/// repetitions of it; empty: it was not measured.
std::vector<double> SamplesOf(const Json& row, const std::string& figure);

}  // namespace latchkey
