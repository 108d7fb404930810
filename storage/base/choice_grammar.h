// The notation of a technique, a device or a rival on a command line and in Options:
// `name:parameter=value:parameter=value`. One grammar serves every list of the tree (registry.h),
// so every wrong item gets the same error message, which names the allowed values.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// The values of a parameter, and the meaning of the number in ParsedChoice::values.
enum class ParameterKind : unsigned char {
  kNumber,    ///< 0.25; "inf" when the maximum is infinite
  kWhole,     ///< 64; "inf" when the maximum is infinite
  kSwitch,    ///< on (1) or off (0)
  kDuration,  ///< 1s, 500ms, 20us; the value is in nanoseconds
  kWord,      ///< one of `words`; the value is its index
};

struct ChoiceParameter {
  std::string_view name;
  double default_value;  ///< NaN: none; the parameter is optional, and FormatChoice omits it
  double min;  ///< `min` and `max` are allowed values
  double max;
  ParameterKind kind;
  std::string_view meaning;
  std::span<const std::string_view> words = {};  ///< kWord; min = 0, max = their number - 1
};

/// The description of one member of a list, by which it is parsed, explained and printed.
struct ChoiceDescription {
  std::string_view name;
  std::string_view summary;
  std::span<const ChoiceParameter> parameters;
};

/// A parsed item: the index of the list member, and a value for each of its parameters, in order.
struct ParsedChoice {
  size_t index = 0;
  std::vector<double> values;
};

/// Parses `item` against `known`. Bare values at the beginning (`regions:64`, `hotcold:90:10`) set
/// the first parameters in their order. A word may stand alone anywhere (`hylog:thesis`). Parameters
/// not mentioned have their defaults. The error messages begin with `kind` ("replacement algorithm").
/// InvalidArgument: an unknown name or parameter (the message lists the known ones); a value of
/// another kind or out of range; a parameter given twice.
absl::StatusOr<ParsedChoice> ParseChoice(std::string_view item, std::string_view kind,
                                         std::span<const ChoiceDescription* const> known);

/// The item with every parameter spelled out, for result files. ParseChoice reads it back.
std::string FormatChoice(const ChoiceDescription& description, std::span<const double> values);

}  // namespace latchkey
