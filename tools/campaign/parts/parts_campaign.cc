#include "tools/campaign/parts/parts_campaign.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/node.h"
#include "engine/log/log_analysis.h"
#include "engine/log/redo.h"
#include "engine/log/testing/memory_log.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/write_record.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/map_page_store.h"
#include "tools/campaign/parts/backup_order.h"
#include "tools/campaign/parts/overtaken_page.h"
#include "tools/campaign/shared/campaign_flags.h"

namespace latchkey {
namespace {

constexpr uint32_t kPageSize = 4096, kFrames = 32;

absl::Status Seen(std::string_view what) { return absl::InternalError(std::string(what)); }

absl::StatusOr<std::unique_ptr<BufferPool>> MakePool(Runtime& runtime, PageStore& store) {
  return BufferPool::Create(runtime, store, MakePlainFixPolicy(runtime, kFrames), kFrames, kFrames);
}

// ---- Snapshots

void CommitSomething(SnapshotManager& snapshots, Txn& txn) {
  std::atomic<uint64_t> commit_ts{WriteRecord::kRunning};
  snapshots.DrawTxnId(txn);
  snapshots.StampCommit(commit_ts);
  snapshots.End(txn);
}

// The readers begin in the order of their slots. Reader `oldest` reads first, then the readers
// after it in turn.
absl::Status ExpireInOrder(size_t oldest) {
  constexpr size_t kReaders = 4;
  SnapshotManager snapshots(ThreadRuntime(), TxnId{1});
  std::array<Txn, kReaders> readers;
  Txn writer;
  for (Txn& reader : readers) LATCHKEY_RETURN_IF_ERROR(snapshots.Begin(reader));
  for (size_t i = 0; i < kReaders; ++i) {
    snapshots.ForReading(readers[(oldest + i) % kReaders]);
    LATCHKEY_RETURN_IF_ERROR(snapshots.Begin(writer));
    CommitSomething(snapshots, writer);
  }
  absl::Status status;
  for (size_t gone = 1; gone <= kReaders; ++gone) {
    if (!snapshots.ExpireOldest()) status.Update(Seen("no snapshot expired"));
    for (size_t i = 0; i < kReaders; ++i) {
      const bool expired = SnapshotManager::Expired(readers[(oldest + i) % kReaders]);
      if (expired != (i < gone)) status.Update(Seen("another one expired than the oldest"));
    }
  }
  for (Txn& reader : readers) snapshots.End(reader);
  return status;
}

absl::Status TheOldestSnapshotExpires() {
  for (size_t oldest = 0; oldest < 4; ++oldest) {
    LATCHKEY_RETURN_IF_ERROR(ExpireInOrder(oldest));
  }
  return absl::OkStatus();
}

// ---- Redo

// A leaf without records.
Lsn LogEmptyLeaf(Log& log, PageId page) {
  AlignedBuffer bytes(kPageSize);
  NodeEditor(bytes.data(), kPageSize).Init(0, Fences{});
  const PageImage image = ImageOf(page, bytes.span());
  const size_t size = ImagesRecordSize({&image, 1}, 0);
  return log.Append(size, [&](Lsn, std::byte* to) {
    EncodeImages({.type = LogRecordType::kImages}, {&image, 1}, {}, to);
  });
}

void LogInsert(Log& log, PageId page, std::string_view key, Lsn page_before) {
  const RecordChange change{.page = page,
                            .key = key,
                            .now = RecordState::kValue,
                            .now_bytes = "value",
                            .before_bytes = {}};
  const ChangeEncoding encoding(LogRecordType::kChange, change);
  log.Append(encoding.size(), [&](Lsn, std::byte* to) {
    encoding.Encode({}, static_cast<uint32_t>(Raw(page_before)), to);
  });
}

// The log shows that the page was changed between its image and the insert, but not how.
absl::Status RedoRefusesAPageThatLacksChanges() {
  MemoryLog log(ThreadRuntime());
  MapPageStore store(ThreadRuntime(), kPageSize);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BufferPool> pool,
                            MakePool(ThreadRuntime(), store));
  LATCHKEY_RETURN_IF_ERROR(log.Reserve(log.RecordSpace(2 * kPageSize)));
  const Lsn image = LogEmptyLeaf(log, PageId{1});
  LogInsert(log, PageId{1}, "key", Lsn{Raw(image) + 1});
  LogAnalysis analysis;
  LogRecord record;
  LATCHKEY_RETURN_IF_ERROR(log.ForEach(Lsn{0}, [&](const LogRecordView& view) {
    const absl::Status decoded = DecodeLogRecord(view.bytes, &record);
    analysis.Add(view.lsn, record);
    return decoded;
  }));
  const absl::Status done = Redo(*pool, analysis, log.end()).Run(log, Lsn{0});
  if (absl::IsDataLoss(done)) return absl::OkStatus();
  return Seen(done.ok() ? "the change was applied" : std::string(done.message()));
}

// ---- The pool

// A log that is durable at once.
class PromptLog final : public WriteAheadLog {
 public:
  Lsn durable() const override { return Lsn{UINT64_MAX}; }
  absl::Status EnsureDurable(Lsn) override { return absl::OkStatus(); }
  bool scarce() const override { return false; }
};

absl::Status WriteBackBesideALatch(SimulatedRuntime& runtime) {
  constexpr uint64_t kChangedAt = 100, kCheckpointAt = 500;
  PromptLog log;
  MapPageStore store(runtime, kPageSize);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BufferPool> pool, MakePool(runtime, store));
  pool->SetWriteAheadLog(&log);
  PageId page = kInvalidPageId;
  absl::Status status;
  {
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(pool->NewPage(pool->Here(), &guard));
    page = guard.page();
    RacyStore<uint64_t>(guard.Mutable() + offsetof(PageHeader, lsn), kChangedAt);
    const std::unique_ptr<Actor> checkpoint =
        runtime.Spawn("checkpoint", [&] { status = pool->WriteDirtyBefore(Lsn{kCheckpointAt}); });
    runtime.SleepFor(kNanosPerMilli);
    guard.Unfix();
    checkpoint->Join();
  }
  LATCHKEY_RETURN_IF_ERROR(status);
  AlignedBuffer bytes(kPageSize);
  const absl::Status read = store.ReadPage(page, bytes.data());
  return read.ok() ? absl::OkStatus() : Seen("the page was not written");
}

absl::Status ACheckpointAwaitsLatches() {
  SimulatedRuntime runtime({.seed = 1});
  absl::Status status;
  const absl::Status ran = runtime.Run([&] { status = WriteBackBesideALatch(runtime); });
  return ran.ok() ? status : ran;
}

constexpr PartScenario kScenarios[] = {
    {"a full version store takes the oldest snapshot, wherever in the slots it stands",
     TheOldestSnapshotExpires},
    {"redo refuses a change on a page that lacks the change before it",
     RedoRefusesAPageThatLacksChanges},
    {"a checkpoint writes a changed page that is latched when it comes by",
     ACheckpointAwaitsLatches},
    {"a backup and a restored database get their names when all that belongs to them is durable",
     BackupsGetTheirNamesLast},
    {"a page that is written again while its batch goes to the slots keeps its slot",
     AnOvertakenPageKeepsItsSlot},
};

}  // namespace

std::span<const PartScenario> PartScenarios() { return kScenarios; }

int RunPartsCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command("Rules of single parts of the engine, a scenario each");
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  uint64_t checked = 0, wrong = 0;
  for (const PartScenario& scenario : PartScenarios()) {
    const absl::Status status = scenario.check();
    ++checked;
    if (status.ok()) continue;
    ++wrong;
    fmt::print("WRONG {}: {}\n", scenario.rule, std::string(status.message()));
  }
  fmt::print("counts: parts scenarios={} mistakes={}\n", checked, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace latchkey
