#include "bufferpool/policy_spec.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Cuts `text` at its first `separator`: the part before it is returned, `text` keeps the rest.
std::string_view CutAt(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::string KnownNames(std::span<const PolicyDescription> known) {
  std::string names;
  for (const PolicyDescription& policy : known) {
    if (!names.empty()) names += ", ";
    names += policy.name;
  }
  return names;
}

std::string KnownParameters(const PolicyDescription& policy) {
  if (policy.parameters.empty()) return "it takes none";
  std::string text = "known: ";
  for (const PolicyParameter& parameter : policy.parameters) {
    if (&parameter != policy.parameters.data()) text += ", ";
    text += fmt::format("{} ({}, {} to {}, default {})", parameter.name, parameter.meaning,
                        parameter.min, parameter.max, parameter.default_value);
  }
  return text;
}

absl::StatusOr<size_t> FindParameter(const PolicyDescription& policy, std::string_view name) {
  for (size_t i = 0; i < policy.parameters.size(); ++i) {
    if (policy.parameters[i].name == name) return i;
  }
  return InvalidArgument("{} has no parameter '{}'; {}", policy.name, name,
                         KnownParameters(policy));
}

absl::StatusOr<double> ParseValue(const PolicyDescription& policy, const PolicyParameter& parameter,
                                  std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  const bool in_range = is_number && value >= parameter.min && value <= parameter.max;
  if (!in_range || (parameter.integral && value != std::floor(value))) {
    return InvalidArgument("{}: {} is '{}', but must be a {} from {} to {}", policy.name,
                           parameter.name, text, parameter.integral ? "whole number" : "number",
                           parameter.min, parameter.max);
  }
  return value;
}

// Reads one `parameter=value`, or a bare value when it is the first.
absl::Status ReadParameter(const PolicyDescription& policy, std::string_view text, bool first,
                           std::vector<double>& values, std::vector<bool>& given) {
  size_t index = 0;
  const bool bare = first && !policy.parameters.empty() && text.find('=') == text.npos;
  if (!bare) {
    LATCHKEY_ASSIGN_OR_RETURN(index, FindParameter(policy, CutAt(text, '=')));
  }
  if (given[index]) {
    return InvalidArgument("{}: {} is given twice; give it once", policy.name,
                           policy.parameters[index].name);
  }
  given[index] = true;
  LATCHKEY_ASSIGN_OR_RETURN(values[index], ParseValue(policy, policy.parameters[index], text));
  return absl::OkStatus();
}

absl::StatusOr<size_t> FindPolicy(std::string_view name, std::string_view kind,
                                  std::span<const PolicyDescription> known) {
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].name == name) return i;
  }
  return InvalidArgument("unknown {} '{}'; known: {}", kind, name, KnownNames(known));
}

}  // namespace

absl::StatusOr<PolicyChoice> ParsePolicy(std::string_view item, std::string_view kind,
                                         std::span<const PolicyDescription> known) {
  PolicyChoice choice;
  const bool has_parameters = item.find(':') != item.npos;
  LATCHKEY_ASSIGN_OR_RETURN(choice.index, FindPolicy(CutAt(item, ':'), kind, known));
  const PolicyDescription& policy = known[choice.index];
  for (const PolicyParameter& parameter : policy.parameters) {
    choice.values.push_back(parameter.default_value);
  }
  std::vector<bool> given(choice.values.size(), false);
  for (bool first = true; first ? has_parameters : !item.empty(); first = false) {
    LATCHKEY_RETURN_IF_ERROR(ReadParameter(policy, CutAt(item, ':'), first, choice.values, given));
  }
  return choice;
}

std::string FormatPolicy(const PolicyDescription& policy, std::span<const double> values) {
  std::string text(policy.name);
  for (size_t i = 0; i < values.size(); ++i) {
    text += fmt::format(":{}={}", policy.parameters[i].name, values[i]);
  }
  return text;
}

}  // namespace latchkey
