// Reading: which state of a record a snapshot sees. Looks through the table of entries, then the
// settled versions, then the spilled ones.
//
// Invariants
//  1. Entries of a key, newest first, have falling commit timestamps. Only the first may be
//     uncommitted. A reader starts with the page's value and replaces it by `old` at every entry
//     that it does not see, until the first entry that it does see.
//  2. A version is in the next place before it leaves the one before. So a reader that looks in the
//     order table, settled, spilled misses none.
//  3. Settled versions are older than every entry of their key. Spilled undo need not be.
//  4. A reader takes a key in a gap that answers for its snapshot as absent. It does so even if it has
//     found a version. A transaction that has written the key itself sees its own record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/txn/empty_gaps.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_table.h"
#include "storage/base/ids.h"

namespace latchkey {

/// The source of a key's value for a reader.
enum class Visible : uint8_t {
  kPage,         ///< the page's record: a value, or a ghost or no record for "absent"
  kOld,          ///< the old value that Lookup has copied
  kOldOverflow,  ///< an old value, behind the overflow reference that Lookup has copied
  kAbsent,       ///< the key did not exist
  kTooOld,       ///< unknown: the snapshot has expired; return SnapshotTooOld()
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class VersionReader {
 public:
  VersionReader(const SnapshotManager& snapshots, VersionTable& table, SettledVersions& settled,
                VersionSpiller& spiller, EmptyGaps& gaps)
      : snapshots_(snapshots), table_(table), settled_(settled), spiller_(spiller), gaps_(gaps) {}

  /// The value of `key` that `txn` sees. kOld and kOldOverflow put the bytes into `*old`; otherwise
  /// it is unchanged. REQUIRES: txn.has_snapshot(), taken before the page was read; the page is
  /// latched, or its optimistic read is validated after this call.
  Visible Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old);

  /// Whether the key is locked, or a reader may need an older state of it than the page's. The
  /// answer holds for as long as the key's leaf stays latched exclusively. `unneeded_until`: no
  /// reader needs a version with a timestamp up to this one.
  bool HasVersions(TreeId tree, std::string_view key, CommitTs unneeded_until);

 private:
  bool LookupSettled(const Txn& txn, const VersionTable::Unseen& walk, uint64_t hash, TreeId tree,
                     std::string_view key, std::string* old, std::optional<RecordState>* state);

  const SnapshotManager& snapshots_;
  VersionTable& table_;
  SettledVersions& settled_;
  VersionSpiller& spiller_;
  EmptyGaps& gaps_;
};

}  // namespace latchkey
