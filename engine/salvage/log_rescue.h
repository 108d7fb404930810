// The log of a damaged database, if it can be read. It is redone over the surveyed pages. The
// changes of transactions that had not ended are collected, so that they can be taken back in the
// saved records.
//
// Redo works as in recovery (engine/log/redo.h), except that changes of lost pages are counted and
// skipped. Nothing in the database is written.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/log/log_record.h"
#include "engine/salvage/page_survey.h"
#include "layout/checkpoint/superblock.h"
#include "storage/device/block_device.h"

namespace latchkey {

/// The changes that an unfinished transaction has made to the record of `key` in tree `tree`.
struct UnfinishedRecord {
  TreeId tree{0};
  std::string key;
  std::vector<std::vector<std::byte>> changes;  ///< kChange records to take back, newest first
};

struct RescuedLog {
  uint64_t records = 0;  ///< records read
  uint64_t redone = 0;   ///< changes that the data file lacked
  uint64_t skipped = 0;  ///< changes of lost pages
  uint64_t unfinished_transactions = 0;
  std::vector<UnfinishedRecord> unfinished{};
};

/// Reads the log on `device` from the LSN that `superblock` names, and puts the redone pages into
/// `survey`. An error says why the log cannot be read or does not belong to the pages; then nothing
/// was put. The error of `device` is one of them. nullopt: the data file has everything, since
/// there never was a log or the database was closed cleanly.
absl::StatusOr<std::optional<RescuedLog>> RedoOverSurvey(
    const std::optional<Superblock>& superblock, uint64_t database_id,
    absl::StatusOr<std::unique_ptr<BlockDevice>> device, PageSurvey& survey);

}  // namespace latchkey
