// Snapshots held beside a run: how much does a long report slow the writers down?
//
// A holder is an actor with a session of its own. It begins one transaction before the run's
// warm-up and ends it after the run. The *idle* holder reads a few rows of each table at the
// beginning and again at the end. The *scanning* holder also reads all tables again and again,
// without a pause. Both compare what they read with what they read first: one snapshot gives one
// answer.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/registry.h"
#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

enum class HeldSnapshots : uint8_t { kNone, kIdle, kScan, kBoth };

struct HeldSnapshotsInfo {
  ChoiceDescription description;
  HeldSnapshots value;
};

/// none, idle, scan, both: in the order of the values.
const Registry<HeldSnapshotsInfo>& HeldSnapshotChoices();
std::string_view NameOf(HeldSnapshots held);

/// What became of the snapshots of a run.
struct HeldSnapshotResult {
  uint64_t scans = 0;          ///< complete scans of all tables
  uint64_t rows_per_scan = 0;  ///< 0: none was completed
  /// Why a snapshot ended before the run did; empty: none has.
  std::string ended_early;
};

/// Not thread-safe.
class SnapshotBeside {
 public:
  /// `tables`: the first so many tables are read.
  SnapshotBeside(KvBackend& backend, size_t tables, HeldSnapshots held, Runtime& runtime);
  /// Ends the snapshots.
  ~SnapshotBeside();
  SnapshotBeside(const SnapshotBeside&) = delete;
  SnapshotBeside& operator=(const SnapshotBeside&) = delete;

  /// Returns when every snapshot is taken, or refused.
  void Begin();
  /// Ends the snapshots. DataLoss: a holder has read something else than the first time. If the
  /// backend has ended a snapshot early (Aborted), the result says so.
  absl::StatusOr<HeldSnapshotResult> End();

 private:
  struct Holder {
    bool scans = false;
    bool taken = false;
    uint64_t scans_done = 0, rows = 0;
    absl::Status status;
    std::unique_ptr<Actor> actor;
  };

  absl::Status Hold(Holder& holder);
  absl::Status ScanAll(KvSession& session, Holder& holder);
  void Join();

  KvBackend& backend_;
  const size_t tables_;
  Runtime& runtime_;
  std::vector<Holder> holders_;
  std::atomic<uint32_t> taken_{0};
  std::atomic<bool> over_{false};
};

}  // namespace latchkey
