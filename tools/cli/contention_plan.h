// What the verbs of `latchkey contention` that use a pool have in common: their flags and rows.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "tools/cli/flags.h"
#include "tools/cli/sweep.h"
#include "tools/contention/pool_emulator.h"
#include "tools/trace/page_trace.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

/// The most threads of an experiment.
inline constexpr uint64_t kMostThreads = 1024;
/// The most microseconds of work between two accesses.
inline constexpr double kMostMicros = 1'000'000;

/// The flags of the pool and of its accesses, with this default of --pages.
std::vector<FlagSpec> PoolFlags(const std::string& pages);

/// The combinations of the flags. A policy stands in place of its parts. InvalidArgument if a flag
/// of `texts` is in none of them.
absl::StatusOr<std::vector<Combination>> ExpandContention(const std::vector<FlagSpec>& specs,
                                                          const FlagTexts& texts);

/// All but the threads and the times. The config refers to `traces`. InvalidArgument names the flag.
absl::StatusOr<PoolEmulatorConfig> ParsePool(const Combination& from, PageTraces& traces);
absl::StatusOr<Nanos> ParseMicros(std::string_view flag, const std::string& text);
absl::StatusOr<uint64_t> ParseSeed(const Combination& from);

/// The fields of a row that say what was run.
Json DescribePool(const Combination& from, const PoolEmulatorConfig& config);
/// Adds to the "warnings" of `row` where the settings are not what their name promises.
void AddPoolWarnings(Json& row, const PoolEmulatorConfig& config);
/// The fields of a row that were measured.
void AddPoolFigures(Json& row, const PoolEmulatorResult& result);
void AddInterval(Json& row, const MeasuredInterval& interval, uint64_t accesses);
/// The columns of these fields; `machine` stands before the threads, `more` at the end.
std::vector<Column> PoolColumns(const std::vector<Column>& machine = {},
                                const std::vector<Column>& more = {});
/// null without accesses.
Json PerMillion(uint64_t events, uint64_t accesses);

}  // namespace latchkey
