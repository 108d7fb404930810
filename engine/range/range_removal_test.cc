// What a range delete does to leaves that split meanwhile, under seeded schedules.
#include "engine/range/range_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/fix_recorder.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/leaf_change.h"
#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/testing/recorded_machine.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/map_page_store.h"

namespace latchkey::range_removal_test {
namespace {

constexpr double kPreemptions = 0.3;

// Ascending puts below the range fill the leaf that holds the range's first records, until it splits
// between the two.
void DeleteBesideSplits(Runtime& runtime, DatabaseImpl& db, uint64_t seed) {
  const auto tree = db.OpenTree(fmt::format("tree {}", seed), /*create=*/true);
  REQUIRE_OK(tree.status());
  const std::string value(100, 'v');
  for (int n = 0; n < 12; ++n) REQUIRE_OK(db.Put(**tree, fmt::format("n{:03}", n), value));
  const auto writer = runtime.Spawn("writer", [&] {
    for (int n = 0; n < 60; ++n) REQUIRE_OK(db.Put(**tree, fmt::format("b{:03}", n), value));
  });
  const auto deleter = runtime.Spawn("deleter", [&] {
    Rng rng(seed);
    runtime.SleepFor(rng.Below(40 * kNanosPerMicro));
    REQUIRE_OK(db.DeleteRange(**tree, {.from = "m", .to = "z"}));
  });
  writer->Join();
  deleter->Join();
  std::string found;
  int left = 0;
  for (int n = 0; n < 12; ++n) {
    left += db.Get(**tree, fmt::format("n{:03}", n), &found).ok() ? 1 : 0;
  }
  CHECK(left == 0);
}

// The end of the leaf was looked up before the leaf split, so the records behind the split stayed.
TEST_CASE("A range delete finds all records of a leaf that splits at the beginning of the range",
          "[simulation]") {
  const uint64_t seed = GENERATE(range(1, kSanitizer ? 4 : 20));
  CAPTURE(seed);
  RecordedMachine machine(seed, kPreemptions);
  const absl::Status ran = machine.runtime.Run([&] {
    auto db = DatabaseImpl::OpenOverDevices(machine.runtime, DevicesOn(machine.disks, BusySizing()),
                                            BusyOptions("overwrite", Durability::kGroup));
    REQUIRE_OK(db.status());
    for (uint64_t tree = 0; tree < 20; ++tree) {
      DeleteBesideSplits(machine.runtime, **db, 100 * seed + tree);
    }
    REQUIRE_OK((*db)->Verify());
    REQUIRE_OK((*db)->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

// A log in which the next structure change that reserves room waits until it is let on.
class HoldingLog final : public TreeLog {
 public:
  explicit HoldingLog(Runtime& runtime) : runtime_(runtime) {}
  bool holds_next = false, is_waiting = false;

  absl::Status Reserve(size_t /*pages*/, bool /*must_not_fail*/, LogSpace* /*space*/) override {
    if (!std::exchange(holds_next, false)) return absl::OkStatus();
    for (is_waiting = true; is_waiting;) runtime_.SleepFor(kNanosPerMicro);
    return absl::OkStatus();
  }
  bool HasRoom(size_t /*pages*/) override { return true; }
  void LogImages(LogSpace&, std::span<ExclusiveGuard* const>, std::span<const PageId>) override {}
  void LogSplit(LogSpace&, ExclusiveGuard&, ExclusiveGuard&, ExclusiveGuard&,
                std::string_view) override {}

 private:
  void Finish(LogSpace&) override {}
  Runtime& runtime_;
};

// So long that an inner page has few children, and one record makes no leaf sparse.
std::string LongKey(int n) { return fmt::format("{:04}", n) + std::string(300, 'k'); }

// Keeps the last of the records that are in the leaf of `key`.
void MakeSparse(BTree& tree, PoolActor& actor, const std::string& key) {
  ExclusiveGuard leaf;
  REQUIRE_OK(tree.FixLeaf(actor, key, &leaf));
  NodeEditor editor(leaf.Mutable(), tree.page_size());
  while (LatchedNodeView(leaf.data(), tree.page_size()).count() > 1) editor.Remove(0);
}

struct MergeBesideRemoval {
  explicit MergeBesideRemoval(Runtime& in) : runtime(in), log(in), store(in, 4096) {
    auto made = BufferPool::Create(in, store, MakePlainFixPolicy(in, 4000), 4000, 4000);
    REQUIRE_OK(made.status());
    pool = *std::move(made);
    const auto root = BTree::Create(*pool, &log);
    REQUIRE_OK(root.status());
    tree = std::make_unique<BTree>(*pool, *root, &log);
    const std::string value(600, 'v');
    for (int n = 0; n < kRecords; ++n) {
      const std::string key = LongKey(n);
      REQUIRE_OK(ChangeRecord(
          *tree, key, value.size(), [&](NodeEditor& leaf, SlotPosition position) -> absl::Status {
            return leaf.Insert(position.slot, key, value, 0) ? absl::OkStatus()
                                                             : absl::InternalError("no room");
          }));
    }
  }
  // The page above the leaf of `key`.
  PageId ParentOf(const std::string& key) {
    DescentHint hint;
    ExclusiveGuard leaf;
    REQUIRE_OK(tree->FixLeaf(pool->Here(), key, &leaf, &hint));
    return hint.parent.page();
  }
  // Lets the merge on when the walk has read the parents of all detached leaves but the last's.
  void Remove() {
    OverflowStore overflow(*pool);
    LogTxn txn;
    RangeProgress progress;
    const auto is_gone = [&](PageId page) {
      visited.push_back(page);
      if (page == progress.detached.at(2)) {
        log.is_waiting = false;
        merge->Join();
        CHECK(std::ranges::find(visited, parent) != visited.end());  // its children are listed
      }
      return false;
    };
    const KeyRange range{.from = LongKey(1), .to = LongKey(kRecords - 1)};
    RangeRemoval removal({.pool = *pool, .overflow = overflow}, range, TxnId{7}, txn, progress,
                         /*must_not_fail=*/false, is_gone, [](PageId) { return false; });
    REQUIRE_OK(removal.Run(tree.get()));
  }
  static constexpr int kRecords = 4800;
  Runtime& runtime;
  HoldingLog log;
  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::unique_ptr<BTree> tree;
  std::unique_ptr<Actor> merge;
  PageId parent{0};             // of the leaf that the merge has found
  std::vector<PageId> visited;  // by the walk
};

// The parent of the leaves was out of the tree, and the walk had listed its leaves. The merge freed
// one of these, and the walk freed it again.
TEST_CASE("A merge that found its leaves before a range delete took them out leaves them alone") {
  SimulatedRuntime runtime({.seed = 1});
  const absl::Status ran = runtime.Run([&] {
    MergeBesideRemoval f(runtime);
    const std::string key = LongKey(f.kRecords / 2);
    for (int n = -4; n <= 4; n += 4)
      MakeSparse(*f.tree, f.pool->Here(), LongKey(f.kRecords / 2 + n));
    f.parent = f.ParentOf(key);
    const uint64_t pages = f.store.page_id_limit();
    f.log.holds_next = true;
    f.merge = runtime.Spawn("merge", [&] { f.tree->TryMerge(f.pool->Here(), key); });
    while (!f.log.is_waiting) runtime.SleepFor(kNanosPerMicro);
    f.Remove();
    CHECK_FALSE(f.log.is_waiting);
    std::set<PageId> fresh;  // a page that was freed twice is allocated twice
    for (uint64_t n = 0; n < pages; ++n) fresh.insert(*f.store.AllocatePage());
    CHECK(fresh.size() == pages);
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

// Holds the actor that latches `leaf` next, with the latch, until it is let on.
class HoldingRecorder final : public FixRecorder {
 public:
  explicit HoldingRecorder(Runtime& runtime) : runtime_(runtime) {}
  PageId last{0}, leaf{0};
  bool holds_next = false, is_waiting = false;

  void Record(uint32_t /*actor*/, const FixEvent& event) override {
    last = event.page;
    if (event.kind != FixKind::kUpgrade || event.page != leaf || !holds_next) return;
    is_waiting = true;
    for (holds_next = false; is_waiting;) runtime_.SleepFor(kNanosPerMicro);
  }

 private:
  Runtime& runtime_;
};

// A purge of a ghost has latched its leaf when a range delete frees the leaf.
void PurgeBesideFree(Runtime& runtime, DatabaseImpl& db) {
  constexpr int kKept = MergeBesideRemoval::kRecords;
  const std::string value(600, 'v'), ghost = LongKey(kKept / 2);
  const auto tree = db.OpenTree("t", /*create=*/true), other = db.OpenTree("other", true);
  REQUIRE_OK(tree.status());
  REQUIRE_OK(other.status());
  constexpr int kTogether = 100;
  for (int first = 0; first < kKept; first += kTogether) {
    REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) {
      absl::Status put;
      for (int n = first; n < first + kTogether && put.ok(); ++n) {
        put = txn.Put(**tree, LongKey(n), value);
      }
      return put;
    }));
  }
  HoldingRecorder recorder(runtime);
  db.SetFixRecorder(&recorder);
  const auto older = db.Begin();
  std::string found;
  REQUIRE_OK(older->Get(**tree, ghost, &found));
  recorder.leaf = recorder.last;
  bool has_deleted = false, may_purge = false, has_purged = false;
  const auto purger = runtime.Spawn("purger", [&] {
    REQUIRE_OK(db.RunTransaction([&](TransactionImpl& txn) { return txn.Delete(**tree, ghost); }));
    for (has_deleted = true; !may_purge;) runtime.SleepFor(kNanosPerMicro);
    for (int n = 0; n < 100 && recorder.holds_next; ++n) REQUIRE_OK(db.Put(**other, "k", value));
    has_purged = true;
  });
  while (!has_deleted) runtime.SleepFor(kNanosPerMicro);
  REQUIRE_OK(db.DeleteRange(**tree, {.from = LongKey(1), .to = LongKey(kKept - 1)}));
  REQUIRE_OK(older->Commit());
  recorder.holds_next = may_purge = true;
  while (!recorder.is_waiting) {
    REQUIRE_FALSE(has_purged);
    runtime.SleepFor(kNanosPerMicro);
  }
  const auto writer = runtime.Spawn("writer", [&] {  // waits until the range is gone
    REQUIRE_OK(db.Put(**tree, LongKey(2), value));
  });
  runtime.SleepFor(100 * kNanosPerMilli);
  recorder.is_waiting = false;
  purger->Join();
  writer->Join();
  db.SetFixRecorder(nullptr);
  REQUIRE_OK(db.Sync());
}

// The purge logged that it takes the ghost out of the leaf behind the record that frees the leaf.
// Redo did not find what it expects, and the database did not open.
TEST_CASE("No change of a page that a range delete frees is logged behind its free") {
  Options options = BusyOptions("overwrite", Durability::kGroup);
  options.checkpoint_log_bytes = 16 << 20;
  options.cache_bytes = 16 << 20;
  RecordedMachine machine(/*seed=*/1, /*preempt_probability=*/0);
  uint64_t crash = 0;
  const absl::Status ran = machine.runtime.Run([&] {
    auto db = DatabaseImpl::OpenOverDevices(machine.runtime, DevicesOn(machine.disks, BusySizing()),
                                            options);
    REQUIRE_OK(db.status());
    PurgeBesideFree(machine.runtime, **db);
    crash = machine.disks.position();
    REQUIRE_OK((*db)->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CrashReplay replay(machine.disks);
  replay.AdvanceTo(crash);
  RecordedMachine after(/*seed=*/1, /*preempt_probability=*/0, replay.Images({}, /*seed=*/1));
  const absl::Status opened = after.runtime.Run([&] {
    auto db =
        DatabaseImpl::OpenOverDevices(after.runtime, DevicesOn(after.disks, BusySizing()), options);
    REQUIRE_OK(db.status());
    REQUIRE_OK((*db)->Verify());
    REQUIRE_OK((*db)->Close());
  });
  INFO(opened.message());
  REQUIRE(opened.ok());
}

}  // namespace
}  // namespace latchkey::range_removal_test
