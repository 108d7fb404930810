// A comparison for the terminal.
#pragma once

#include <cstddef>
#include <string>

#include "tools/report/comparison.h"

namespace latchkey {

/// The comparison as lines of at most `width` columns, unless a name without spaces is longer: what
/// differs, then for each pair of rows a table of its figures. Ends with a line break.
std::string ComparisonText(const ResultComparison& comparison, size_t width);

}  // namespace latchkey
