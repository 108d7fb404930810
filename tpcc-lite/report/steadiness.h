// Decides whether a row's rate is steady, so that it may be compared with the rate of another row.
//
// A row is steady if none of these holds:
//  - its rate is 0: nothing was counted;
//  - its rate in the second half of the measured part differs from that in the first half by more
//    than kMaxDrift (relative to the first half, in the median repetition);
//  - half the range of its repetitions is more than kMaxHalfRange of their median;
//  - its layout appends, and has not yet filled its free segments once: until then cleaning costs
//    nothing;
//  - the run looked for steady state before its measured part, and did not find it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

inline constexpr double kMaxDrift = 0.10;
inline constexpr double kMaxHalfRange = 0.10;

/// Rate of `count` ("transactions") in the second half of the time of `samples`, as a change from
/// the first half: -0.2 = 20 % slower. nullopt: fewer than four samples, or a count of zero in the
/// first half.
std::optional<double> HalfToHalfDrift(const Json& samples, std::string_view count);

/// Adds to a row of CombineRepetitions: `drift` (null if unknown), `unsteady` (a list of reasons)
/// and `steady` (null if nothing was measured). `figure` points to the rate: "/transactions_per_s"
/// over samples of "transactions"; "/throughput" is over samples of "operations".
void AddSteadiness(Json& row, const std::string& figure);

/// One line for each row that is not steady: its name in the table, and the reasons.
std::vector<std::string> DescribeUnsteady(std::span<const Json> rows,
                                          std::span<const Column> columns);

}  // namespace latchkey
