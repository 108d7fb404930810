#include "storage/base/choice_grammar.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "storage/base/quantity.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Cuts `text` at its first `separator`: returns the part before it; `text` keeps the rest.
std::string_view CutAt(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string FormatValue(const ChoiceParameter& parameter, double value) {
  if (std::isnan(value)) return "none";
  switch (parameter.kind) {
    case ParameterKind::kSwitch:
      return value != 0 ? "on" : "off";
    case ParameterKind::kDuration:
      return std::isinf(value) ? "inf" : FormatDuration(value);
    case ParameterKind::kWord:
      return std::string(parameter.words[static_cast<size_t>(value)]);
    case ParameterKind::kNumber:
    case ParameterKind::kWhole:
      break;
  }
  return fmt::format("{}", value);
}

// "a whole number from 1 to 100", "on or off", "one of heap, array".
std::string Allowed(const ChoiceParameter& parameter) {
  const auto range = [&](std::string_view noun) {
    return fmt::format("{} from {} to {}", noun, FormatValue(parameter, parameter.min),
                       FormatValue(parameter, parameter.max));
  };
  switch (parameter.kind) {
    case ParameterKind::kSwitch:
      return "on or off";
    case ParameterKind::kDuration:
      return range("a time");
    case ParameterKind::kWord:
      return "one of " + Joined(parameter.words);
    case ParameterKind::kWhole:
      return range("a whole number");
    case ParameterKind::kNumber:
      break;
  }
  return range("a number");
}

std::string KnownParameters(const ChoiceDescription& choice) {
  if (choice.parameters.empty()) return "it takes none";
  std::string text = "known: ";
  for (const ChoiceParameter& parameter : choice.parameters) {
    if (&parameter != choice.parameters.data()) text += ", ";
    text += fmt::format("{} ({}: {}, default {})", parameter.name, parameter.meaning,
                        Allowed(parameter), FormatValue(parameter, parameter.default_value));
  }
  return text;
}

absl::StatusOr<size_t> FindParameter(const ChoiceDescription& choice, std::string_view name) {
  for (size_t i = 0; i < choice.parameters.size(); ++i) {
    if (choice.parameters[i].name == name) return i;
  }
  return InvalidArgument("{} has no parameter '{}'; {}", choice.name, name,
                         KnownParameters(choice));
}

std::optional<double> ReadNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) {
    return std::nullopt;
  }
  return value;
}

// nullopt: `text` is not a value of the parameter's kind.
std::optional<double> ReadValue(const ChoiceParameter& parameter, std::string_view text) {
  switch (parameter.kind) {
    case ParameterKind::kSwitch:
      if (text == "on") return 1;
      if (text == "off") return 0;
      return std::nullopt;
    case ParameterKind::kDuration:
      if (text == "inf") return ReadNumber(text);
      return ParseQuantity(text, TimeUnits());
    case ParameterKind::kWord:
      for (size_t i = 0; i < parameter.words.size(); ++i) {
        if (parameter.words[i] == text) return static_cast<double>(i);
      }
      return std::nullopt;
    case ParameterKind::kNumber:
    case ParameterKind::kWhole:
      break;
  }
  const std::optional<double> value = ReadNumber(text);
  const bool whole = value && *value == std::floor(*value);
  if (parameter.kind == ParameterKind::kWhole && !whole) return std::nullopt;
  return value;
}

absl::StatusOr<double> ParseValue(const ChoiceDescription& choice, const ChoiceParameter& parameter,
                                  std::string_view text) {
  const std::optional<double> value = ReadValue(parameter, text);
  if (value && *value >= parameter.min && *value <= parameter.max) return *value;
  return InvalidArgument("{}: {} is '{}', but must be {}", choice.name, parameter.name, text,
                         Allowed(parameter));
}

// The parameter that has `text` as a word.
std::optional<size_t> FindWord(const ChoiceDescription& choice, std::string_view text) {
  for (size_t i = 0; i < choice.parameters.size(); ++i) {
    const ChoiceParameter& parameter = choice.parameters[i];
    if (parameter.kind == ParameterKind::kWord && ReadValue(parameter, text)) return i;
  }
  return std::nullopt;
}

// As ParseValue, for a value without the name of its parameter: an error names the words, too.
absl::StatusOr<double> ParseBareValue(const ChoiceDescription& choice,
                                      const ChoiceParameter& parameter, std::string_view text) {
  absl::StatusOr<double> value = ParseValue(choice, parameter, text);
  std::vector<std::string_view> words;
  for (const ChoiceParameter& other : choice.parameters) {
    words.insert(words.end(), other.words.begin(), other.words.end());
  }
  if (value.ok() || words.empty()) return value;
  return InvalidArgument("{}; or one of {}", std::string(value.status().message()), Joined(words));
}

constexpr size_t kNoPosition = SIZE_MAX;

// Reads one `parameter=value`, a word, or a bare value of the parameter `*position`. Moves *position
// behind a bare value; kNoPosition: no further one is allowed.
absl::Status ReadParameter(const ChoiceDescription& choice, std::string_view text, size_t* position,
                           std::vector<double>& values, std::vector<bool>& given) {
  const bool has_name = text.find('=') != text.npos;
  size_t index = 0;
  if (const std::optional<size_t> of_word = FindWord(choice, text)) {
    index = *of_word;
    if (*position == index) ++*position;
  } else if (!has_name && *position < choice.parameters.size()) {
    index = (*position)++;
  } else {
    LATCHKEY_ASSIGN_OR_RETURN(index, FindParameter(choice, CutAt(text, '=')));
    *position = kNoPosition;
  }
  if (given[index]) {
    return InvalidArgument("{}: {} is given twice; give it once", choice.name,
                           choice.parameters[index].name);
  }
  given[index] = true;
  const ChoiceParameter& parameter = choice.parameters[index];
  LATCHKEY_ASSIGN_OR_RETURN(values[index], has_name ? ParseValue(choice, parameter, text)
                                                    : ParseBareValue(choice, parameter, text));
  return absl::OkStatus();
}

absl::StatusOr<size_t> FindMember(std::string_view name, std::string_view kind,
                                  std::span<const ChoiceDescription* const> known) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i]->name == name) return i;
    names.push_back(known[i]->name);
  }
  return InvalidArgument("unknown {} '{}'; known: {}", kind, name, Joined(names));
}

}  // namespace

absl::StatusOr<ParsedChoice> ParseChoice(std::string_view item, std::string_view kind,
                                         std::span<const ChoiceDescription* const> known) {
  ParsedChoice parsed;
  const bool has_parameters = item.find(':') != item.npos;
  LATCHKEY_ASSIGN_OR_RETURN(parsed.index, FindMember(CutAt(item, ':'), kind, known));
  const ChoiceDescription& choice = *known[parsed.index];
  for (const ChoiceParameter& parameter : choice.parameters) {
    parsed.values.push_back(parameter.default_value);
  }
  std::vector<bool> given(parsed.values.size(), false);
  // Bare values may be at the beginning only.
  size_t position = 0;
  for (bool first = true; first ? has_parameters : !item.empty(); first = false) {
    LATCHKEY_RETURN_IF_ERROR(
        ReadParameter(choice, CutAt(item, ':'), &position, parsed.values, given));
  }
  return parsed;
}

std::string FormatChoice(const ChoiceDescription& description, std::span<const double> values) {
  std::string text(description.name);
  for (size_t i = 0; i < values.size(); ++i) {
    const ChoiceParameter& parameter = description.parameters[i];
    if (std::isnan(values[i])) continue;  // an optional one that was not given
    text += fmt::format(":{}={}", parameter.name, FormatValue(parameter, values[i]));
  }
  return text;
}

}  // namespace latchkey
