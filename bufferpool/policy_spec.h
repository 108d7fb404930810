// How a policy is named on a command line and in Options: `name:parameter=value:parameter=value`.
// One parser for replacement algorithms, synchronisation schemes and cleaning controllers, so that
// every wrong item is refused in the same words, with what would have been right.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// A numeric parameter of a policy. `min` and `max` are allowed values.
struct PolicyParameter {
  std::string_view name;
  double default_value;
  double min;
  double max;
  bool integral;
  std::string_view meaning;
};

/// What a list says about one of its members: enough to parse, to explain and to echo it.
struct PolicyDescription {
  std::string_view name;
  std::string_view summary;
  std::span<const PolicyParameter> parameters;
};

/// A parsed item: which member of the list, and a value for each of its parameters, in its order.
struct PolicyChoice {
  size_t index = 0;
  std::vector<double> values;
};

/// Parses `item` against `known`. A bare value (`regions:64`) sets the first parameter; parameters
/// not mentioned have their defaults. `kind` ("replacement algorithm") opens the error messages.
/// InvalidArgument: unknown name or parameter (the known ones are listed), a value that is no
/// number, not whole or outside its range, a parameter given twice.
absl::StatusOr<PolicyChoice> ParsePolicy(std::string_view item, std::string_view kind,
                                         std::span<const PolicyDescription> known);

/// The item in full, every parameter spelled out: what results echo. ParsePolicy reads it back.
std::string FormatPolicy(const PolicyDescription& policy, std::span<const double> values);

}  // namespace latchkey
