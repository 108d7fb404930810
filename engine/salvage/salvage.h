// Saves what a damaged database still proves into a new one.
//
// It uses the data file, and the log if that can be read. It needs no readable superblock,
// catalogue or inner page, and changes nothing in the damaged database. Limits:
//   - Without the log, changes that had not reached the data file are missing, and changes of
//     transactions that had not committed may be present.
//   - Pages do not name their tree. Leaves below a lost inner page go by their keys to the one tree
//     that has a gap there. If several trees have one, they go to the tree "lost+found/leaves". If
//     none has one, they are counted and left out. Without a whole catalogue each remaining page
//     without a parent becomes a tree "lost+found/page-N" of its own.
//   - Such leaves may be older than the damage: keys deleted since may come back.
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
  /// Options of the new database; page size 0 = that of the old database.
  Options output;
  /// Takes pages by their looks if nothing is left to check their checksums with.
  bool without_proof = false;
  /// Gets the bytes of the data file read so far, and their total.
  std::function<void(uint64_t done, uint64_t total)> progress;
  const std::atomic<bool>* stop = nullptr;  ///< the salvage ends with Cancelled once true
};

struct SalvagedTree {
  std::string name;
  uint64_t records = 0;
  uint64_t adopted_records = 0;  ///< part from leaves that no inner page leads to any more
  uint64_t lost_pages = 0;       ///< places where the tree breaks off
  uint64_t lost_values = 0;      ///< records left out because their large values are incomplete
  uint64_t outdated_pages = 0;   ///< pages read from an older copy because the newest is damaged

  bool whole() const { return lost_pages + lost_values + outdated_pages == 0; }
};

/// The outcome for the log.
enum class LogUse : uint8_t {
  kNone,        ///< the data file has everything; or neither log nor superblock is left
  kReplayed,    ///< redone as by recovery; uncommitted changes were taken back
  kUnreadable,  ///< see SalvageReport::log_error
};

struct SalvageReport {
  uint32_t page_size = 0;
  uint64_t database_id = 0;
  bool proven = true;  ///< pages proved themselves by checksum
  bool superblock_found = false;
  bool catalog_found = false;  ///< false = the trees have lost their names
  bool catalog_complete = false;
  SurveyCounts pages;
  LogUse log = LogUse::kNone;
  std::string log_error;            ///< why it could not be replayed
  uint64_t log_records = 0;         ///< records read
  uint64_t log_changes = 0;         ///< changes that the data file lacked
  uint64_t log_changes_lost = 0;    ///< changes of lost pages
  uint64_t unfinished_changes = 0;  ///< changes taken back
  uint64_t unused_leaves = 0;       ///< proven, but in no tree; most likely freed before
  std::vector<SalvagedTree> trees;

  /// True if nothing is known to be missing.
  bool whole() const;
};

/// Reads the database at `path` and creates a new one at `out`, where nothing or an empty directory
/// may be. It grows in OUT.salvaging and gets its name when it is whole. NotFound: there is no data
/// file, or no page in it can be recognised. FailedPrecondition: the database is open elsewhere.
/// AlreadyExists: there is something at `out`. InvalidArgument: `out` lies in `path`.
absl::StatusOr<SalvageReport> Salvage(const std::string& path, const std::string& out,
                                      const SalvageOptions& options);

}  // namespace latchkey
