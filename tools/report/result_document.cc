#include "tools/report/result_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr std::string_view kRemedy = "give a file that --json=FILE of a measuring verb wrote";

bool IsText(const Json& value) { return value.is_string(); }
bool IsObject(const Json& value) { return value.is_object(); }

/// Whether the field is absent, or a list of which each element is good.
bool IsListOf(const Json& from, const char* field, bool (*good)(const Json&)) {
  const auto at = from.find(field);
  return at == from.end() || (at->is_array() && std::all_of(at->begin(), at->end(), good));
}

bool IsNumberOrAbsent(const Json& from, const char* field) {
  const auto at = from.find(field);
  return at == from.end() || at->is_number();
}

/// The reason why `row` cannot be shown; empty: it can.
std::string DefectOf(const Json& row) {
  if (!row.is_object()) return "is no object";
  for (const char* field : {"warnings", "unsteady"}) {
    if (!IsListOf(row, field, IsText))
      return fmt::format("has \"{}\" that is no list of texts", field);
  }
  for (const char* field : {"samples", "repetitions"}) {
    if (!IsListOf(row, field, IsObject)) {
      return fmt::format("has \"{}\" that is no list of objects", field);
    }
  }
  return IsNumberOrAbsent(row, "repeat") ? "" : "has \"repeat\" that is no number";
}

absl::Status UnknownSchema(const std::string& name, const std::string& schema,
                           std::span<const ReportKind> kinds) {
  std::vector<std::string> known;
  for (const ReportKind& kind : kinds) known.push_back(kind.schema);
  return InvalidArgument("{}: its schema is {}, of which this program has no report; known: {}",
                         name, schema.empty() ? "missing" : schema, fmt::join(known, ", "));
}

}  // namespace

const ReportKind* FindReportKind(std::span<const ReportKind> kinds, std::string_view schema) {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const ReportKind& kind) { return kind.schema == schema; });
  return found == kinds.end() ? nullptr : &*found;
}

std::span<const Json> ResultDocument::rows() const {
  return json.at("results").get_ref<const Json::array_t&>();
}

absl::StatusOr<ResultDocument> ParseResultDocument(std::string name, std::string_view text,
                                                   std::span<const ReportKind> kinds) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("{}: not JSON; {}", name, kRemedy);
  return CheckResultDocument(std::move(name), std::move(json), kinds);
}

absl::StatusOr<ResultDocument> CheckResultDocument(std::string name, Json json,
                                                   std::span<const ReportKind> kinds) {
  if (!json.is_object()) return InvalidArgument("{}: no result document; {}", name, kRemedy);
  const std::string schema = TextAt(json, "/schema");
  const ReportKind* kind = FindReportKind(kinds, schema);
  if (kind == nullptr) return UnknownSchema(name, schema, kinds);
  if (!json.contains("results") || !json.at("results").is_array()) {
    return InvalidArgument("{}: has no list of results; {}", name, kRemedy);
  }
  for (size_t i = 0; i < json.at("results").size(); ++i) {
    const std::string defect = DefectOf(json.at("results").at(i));
    if (!defect.empty()) return InvalidArgument("{}: result {} {}; {}", name, i, defect, kRemedy);
  }
  return ResultDocument{std::move(name), kind, std::move(json)};
}

std::optional<double> NumberAt(const Json& from, const std::string& pointer) {
  const Json found = ValueAt(from, pointer);
  if (!found.is_number()) return std::nullopt;
  const auto value = found.get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string TextAt(const Json& from, const std::string& pointer, std::string otherwise) {
  const Json found = ValueAt(from, pointer);
  return found.is_string() ? found.get<std::string>() : otherwise;
}

std::vector<double> SamplesOf(const Json& row, const std::string& figure) {
  std::vector<double> samples;
  const std::string last_name = figure.substr(figure.rfind('/'));
  if (row.contains("repetitions")) {
    for (const Json& repetition : row.at("repetitions")) {
      if (const auto value = NumberAt(repetition, last_name)) samples.push_back(*value);
    }
  }
  if (samples.empty()) {
    if (const auto value = NumberAt(row, figure)) samples.push_back(*value);
  }
  return samples;
}

}  // namespace latchkey
