// Write checks: whether a transaction may change a key now, has to wait, or is refused.
//
// The first committer wins: a transaction whose snapshot has served a read may not write a key that
// a later commit has written or locked. If it has read nothing, its snapshot moves instead.
//
// Invariant: at most one unfinished transaction has an entry for a key, since Check lets no other
// one write it. The entry is the write lock.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "engine/txn/empty_gaps.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_spiller.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Whether this transaction may write this key now. A ticket for Install.
struct WriteCheck {
  enum class Verdict : uint8_t { kGo, kWait, kRefused };
  Verdict verdict = Verdict::kGo;
  uint64_t hash = 0;
  /// kGo: this transaction's own entry for the key, if it has one.
  VersionEntry* own_entry = nullptr;
  /// kWait: the writer to wait for.
  WriterRef owner;
  /// kRefused: Aborted (run the transaction again), or Unavailable (the rollback of the key's last
  /// writer has failed).
  absl::Status refusal;
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class WriteChecker {
 public:
  WriteChecker(SnapshotManager& snapshots, VersionTable& table, SettledVersions& settled,
               const VersionSpiller& spiller, EmptyGaps& gaps, VersionCounters& counters)
      : snapshots_(snapshots),
        table_(table),
        settled_(settled),
        spiller_(spiller),
        gaps_(gaps),
        counters_(counters) {}

  /// `hash`: VersionTable::HashOf. Takes the snapshot of `txn` if it has none. Moves it if that
  /// resolves a conflict and the transaction has read nothing. REQUIRES: the key's leaf is latched
  /// exclusively; `page_last_writer` is its mark; `has_record`: it has a record of the key, perhaps a
  /// ghost.
  WriteCheck Check(Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                   TxnId page_last_writer, bool has_record);

 private:
  WriteCheck Judge(Txn& txn, uint64_t hash, TreeId tree, std::string_view key, bool has_record);
  WriteCheck FindWriter(const Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                        CommitTs* newest);
  WriteCheck FindSettled(const Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                         CommitTs* newest);
  WriteCheck Refuse(absl::Status status);

  SnapshotManager& snapshots_;
  VersionTable& table_;
  SettledVersions& settled_;
  const VersionSpiller& spiller_;
  EmptyGaps& gaps_;
  VersionCounters& counters_;
};

}  // namespace latchkey
