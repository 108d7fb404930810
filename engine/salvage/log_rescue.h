// The log of a damaged database, if it can be read: redone over the surveyed pages, and the changes
// of transactions that had not ended found, so that they can be taken back in what was saved.
//
// Redo as recovery does it (engine/log/redo.h), but for changes of pages that are lost: they are
// counted and left out. Nothing in the database is written.
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
#include "layout/superblock.h"
#include "storage/device/block_device.h"

namespace latchkey {

/// What a transaction that had not ended has made of the record of `key` in tree `tree`.
struct UnfinishedRecord {
  TreeId tree{0};
  std::string key;
  std::vector<std::vector<std::byte>> changes;  ///< kChange records to take back, newest first
};

struct RescuedLog {
  uint64_t records = 0;  ///< read
  uint64_t redone = 0;   ///< changes that the data file did not have
  uint64_t skipped = 0;  ///< changes of pages that are lost
  uint64_t unfinished_transactions = 0;
  std::vector<UnfinishedRecord> unfinished{};
};

/// Reads the log on `device` from where `superblock` says, and puts what it makes of pages into
/// `survey`. Errors: why the log cannot be read, or does not belong to the pages; nothing was put
/// then. nullopt: the data file has everything, since there never was a log or since the database
/// was closed cleanly.
absl::StatusOr<std::optional<RescuedLog>> RedoOverSurvey(
    const std::optional<Superblock>& superblock, uint64_t database_id,
    std::unique_ptr<BlockDevice> device, PageSurvey& survey);

}  // namespace latchkey
