// Combines several repetitions of one experiment into one result: medians and spreads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// The middle value; for an even number of values, the mean of the two in the middle. REQUIRES:
/// `values` is not empty.
double Median(std::vector<double> values);

inline constexpr double kLeastMedianShare = 0.1;

/// One result of `repetitions` of the same experiment, in the order they ran (at least one):
///  - every number is the median over those repetitions that measured it, null if none did;
///  - text, flags and lists (`samples`) are those of the repetition whose `figures[0]` is the
///  median;
///  - "repeat": how many; "repetitions": the `figures` (JSON pointers) of each, in order;
///  - "spread": per figure its `min`, `max` and `half_range` (half of max - min, as a share of the
///    median); null where nothing was measured. `half_range` is null as well where the median is
///    below kLeastMedianShare of the largest repetition: a share of so small a median means little.
Json CombineRepetitions(std::span<const Json> repetitions, std::span<const std::string> figures);

}  // namespace latchkey
