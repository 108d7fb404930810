// `latchkey contention`: what the locks of the buffer pool's policies cost, without a database.
#pragma once

#include <span>
#include <vector>

#include "tools/cli/experiment.h"
#include "tools/cli/flags.h"

namespace latchkey {

inline constexpr const char* kContentionSchema = "latchkey.contention/1";

/// The flags of `contention pool` and of `contention lock`, with defaults and help.
std::vector<FlagSpec> ContentionPoolFlags();
std::vector<FlagSpec> ContentionLockFlags();

/// Threads fix pages of a pool (tools/contention/pool_emulator.h); one row per combination.
int ContentionPoolCommand(const FlagTexts& texts, const ExperimentFlags& flags);
/// Threads take a lock (tools/contention/lock_benchmark.h); one row per combination.
int ContentionLockCommand(const FlagTexts& texts, const ExperimentFlags& flags);

/// The columns of both verbs' results, which have one schema: a row of either lacks some.
std::vector<Column> ContentionColumns();

}  // namespace latchkey
