// Saving what a damaged database still proves into a new one.
//
// Works on the data file, and on the log where that can be read: no superblock, catalogue or inner
// page has to be readable, and nothing in the damaged database is changed. What it cannot know:
//   - without the log, changes that had not reached the data file are missing, and changes of
//     transactions that had not committed may be there
//   - pages do not say which tree they belong to. Below a lost inner page, leaves go by their keys
//     to the one tree that has a gap there; where several could, or none, they go to trees named
//     "lost+found/..."
//   - such leaves may be older than the damage: keys deleted since may come back
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/salvage/page_survey.h"

namespace latchkey {

struct SalvageOptions {
  /// Of the new database; page size 0 takes that of the old.
  Options output;
  /// Takes pages by their looks when nothing is left that their checksums could be checked with.
  bool without_proof = false;
  /// Bytes of the data file read so far, of all.
  std::function<void(uint64_t done, uint64_t total)> progress;
  const std::atomic<bool>* stop = nullptr;  ///< ends with Cancelled once true
};

struct SalvagedTree {
  std::string name;
  uint64_t records = 0;
  uint64_t adopted_records = 0;  ///< of them, from leaves that no inner page led to any more
  uint64_t lost_pages = 0;       ///< places where the tree breaks off
  uint64_t lost_values = 0;      ///< records left out: their large values are not whole
  uint64_t outdated_pages = 0;   ///< read from an older copy, since the newest is damaged

  bool whole() const { return lost_pages + lost_values + outdated_pages == 0; }
};

/// What became of the log.
enum class LogUse : uint8_t {
  kNone,        ///< there is none: the data file has everything
  kReplayed,    ///< as recovery does it; what transactions had not committed was taken back
  kUnreadable,  ///< see SalvageReport::log_error
};

struct SalvageReport {
  uint32_t page_size = 0;
  uint64_t database_id = 0;
  bool proven = true;  ///< pages proved themselves by checksum
  bool superblock_found = false;
  bool catalog_found = false;  ///< false: trees have lost their names
  bool catalog_complete = false;
  SurveyCounts pages;
  LogUse log = LogUse::kNone;
  std::string log_error;            ///< why it could not be replayed
  uint64_t log_records = 0;         ///< read
  uint64_t log_changes = 0;         ///< that the data file did not have
  uint64_t log_changes_lost = 0;    ///< of pages that are lost
  uint64_t unfinished_changes = 0;  ///< taken back
  uint64_t unused_leaves = 0;       ///< proven, but of no tree: freed before, most likely
  std::vector<SalvagedTree> trees;

  /// Nothing is known to be missing.
  bool whole() const;
};

/// Reads the database at `path`, makes a new one at `out` (which must not be one yet). NotFound: no
/// data file, or no page in it can be told. FailedPrecondition: it is open elsewhere. Errors of
/// writing leave an unfinished database at `out`.
absl::StatusOr<SalvageReport> Salvage(const std::string& path, const std::string& out,
                                      const SalvageOptions& options);

}  // namespace latchkey
