#include "tpcc-lite/kv/snapshot_beside.h"

#include <utility>

#include "storage/base/hash.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr HeldSnapshotsInfo kChoices[] = {
    {{"none", "no snapshot", {}}, HeldSnapshots::kNone},
    {{"idle", "one that waits for the end of the run", {}}, HeldSnapshots::kIdle},
    {{"scan", "one that reads all tables again and again", {}}, HeldSnapshots::kScan},
    {{"both", "one that waits and one that scans", {}}, HeldSnapshots::kBoth},
};

// Upper bound of the delay of Begin and End.
constexpr Nanos kPoll = 10 * kNanosPerMilli;
// Rows of each table that an idle holder reads.
constexpr uint64_t kIdleRows = 100;

/// Number and digest of the rows of a scan.
struct Digest {
  uint64_t rows = 0;
  uint64_t hash = 0;
  bool operator==(const Digest&) const = default;
};

/// Reads the first `most_rows` rows of each table, until `*over` is set (nullptr: to the end).
absl::Status Read(KvSession& session, size_t tables, uint64_t most_rows,
                  const std::atomic<bool>* over, Digest* digest) {
  const std::string beyond_all_keys(64, '\xff');
  *digest = {};
  for (TableIndex table = 0; table < tables; ++table) {
    uint64_t rows = 0;
    LATCHKEY_RETURN_IF_ERROR(session.Scan(
        table, "", beyond_all_keys, /*reverse=*/false,
        [&](std::string_view key, std::string_view value) {
          digest->hash = Hash64(value, Hash64(key, digest->hash));
          ++digest->rows;
          return ++rows < most_rows && !(over != nullptr && over->load(std::memory_order_relaxed));
        }));
  }
  return absl::OkStatus();
}

absl::Status Differs(const Digest& first, const Digest& now) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "a snapshot beside the run has read {} rows with digest {:016x}, and at first "
                    "{} rows with digest {:016x}",
                    now.rows, now.hash, first.rows, first.hash);
}

}  // namespace

const Registry<HeldSnapshotsInfo>& HeldSnapshotChoices() {
  static constexpr Registry<HeldSnapshotsInfo> registry("snapshot", kChoices);
  return registry;
}

std::string_view NameOf(HeldSnapshots held) {
  return kChoices[static_cast<size_t>(held)].description.name;
}

SnapshotBeside::SnapshotBeside(KvBackend& backend, size_t tables, HeldSnapshots held,
                               Runtime& runtime)
    : backend_(backend), tables_(tables), runtime_(runtime) {
  for (const bool scans : {false, true}) {
    const HeldSnapshots alone = scans ? HeldSnapshots::kScan : HeldSnapshots::kIdle;
    if (held != alone && held != HeldSnapshots::kBoth) continue;
    holders_.emplace_back();
    holders_.back().scans = scans;
  }
}

SnapshotBeside::~SnapshotBeside() { Join(); }

void SnapshotBeside::Begin() {
  for (Holder& holder : holders_) {
    holder.actor = runtime_.Spawn("snapshot", [this, &holder] {
      holder.status = Hold(holder);
      if (!holder.taken) taken_.fetch_add(1, std::memory_order_release);
    });
  }
  while (taken_.load(std::memory_order_acquire) < holders_.size()) runtime_.SleepFor(kPoll);
}

void SnapshotBeside::Join() {
  over_.store(true, std::memory_order_release);
  for (Holder& holder : holders_) {
    if (holder.actor != nullptr) holder.actor->Join();
  }
}

absl::StatusOr<HeldSnapshotResult> SnapshotBeside::End() {
  Join();
  HeldSnapshotResult sum;
  for (const Holder& holder : holders_) {
    if (absl::IsAborted(holder.status)) {
      sum.ended_early = std::string(holder.status.message());
    } else {
      LATCHKEY_RETURN_IF_ERROR(holder.status);
    }
    sum.scans += holder.scans_done;
    if (holder.scans) sum.rows_per_scan = holder.rows;
  }
  return sum;
}

absl::Status SnapshotBeside::Hold(Holder& holder) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvSession> session, backend_.NewSession());
  LATCHKEY_RETURN_IF_ERROR(session->Begin());
  Digest first;
  LATCHKEY_RETURN_IF_ERROR(Read(*session, tables_, kIdleRows, nullptr, &first));
  holder.taken = true;
  taken_.fetch_add(1, std::memory_order_release);
  if (holder.scans) LATCHKEY_RETURN_IF_ERROR(ScanAll(*session, holder));
  while (!over_.load(std::memory_order_acquire)) runtime_.SleepFor(kPoll);
  Digest last;
  LATCHKEY_RETURN_IF_ERROR(Read(*session, tables_, kIdleRows, nullptr, &last));
  if (last != first) return Differs(first, last);
  return session->Commit();
}

absl::Status SnapshotBeside::ScanAll(KvSession& session, Holder& holder) {
  Digest first;
  while (!over_.load(std::memory_order_acquire)) {
    Digest now;
    LATCHKEY_RETURN_IF_ERROR(Read(session, tables_, UINT64_MAX, &over_, &now));
    if (over_.load(std::memory_order_acquire)) break;
    if (holder.scans_done == 0) first = now;
    if (now != first) return Differs(first, now);
    ++holder.scans_done;
    holder.rows = now.rows;
  }
  return absl::OkStatus();
}

}  // namespace latchkey
