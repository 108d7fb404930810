#include "engine/txn/version_spiller.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/txn/version_writer.h"
#include "storage/device/memory_device.h"

namespace latchkey::version_spiller_test {
namespace {

constexpr TreeId kTree{3};

struct NoTrees : GcClient {
  void PurgeGhost(TreeId, std::string_view, CommitTs) override {}
  void FreeOverflow(TreeId, std::string_view) override {}
};

struct Fixture {
  NoTrees trees;
  SnapshotManager snapshots{ThreadRuntime()};
  VersionCounters counters{ThreadRuntime()};
  VersionTable table{ThreadRuntime()};
  RecordPool pool{ThreadRuntime()};
  KnownWrites known{ThreadRuntime()};
  SettledVersions settled{ThreadRuntime(), known};
  VersionWriter writer{ThreadRuntime(), snapshots, table, pool, known, counters};
  EmptyGaps gaps{ThreadRuntime()};
  VersionSpiller spiller{ThreadRuntime(), snapshots, table, settled, gaps, counters, trees};

  void SetDevice() {
    auto device = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
    REQUIRE(device.ok());
    spiller.SetDevice(*std::move(device), 1 << 20);
  }
  void Write(Txn& txn, const std::string& key, const std::string& old) {
    WriteCheck check;
    check.hash = VersionTable::HashOf(kTree, key);
    writer.Install(txn, check, kTree, key, {RecordState::kValue, old}, Change::kPut);
  }
  // Ends `txn` as a rollback does that has restored all of its records.
  void EndRolledBack(Txn& txn, WriteRecord* record) {
    record->outcome.store(WriteRecord::kRolledBack);
    spiller.ReleaseUndo(*record);
    CHECK_FALSE(spiller.HasUndo());
    snapshots.End(txn);
    pool.Return(record);
  }
  void Settle(const std::string& key, CommitTs ts, const std::string& old) {
    const LiveSnapshots live{.read_ts = {0}, .as_of = 1'000};
    Chores chores;
    REQUIRE(settled.Add({.tree = kTree,
                         .hash = VersionTable::HashOf(kTree, key),
                         .ts = ts,
                         .key = key,
                         .state = RecordState::kValue,
                         .old = old},
                        live, &chores));
  }
};

TEST_CASE("without a device nothing is spilled and nothing is there") {
  Fixture f;
  f.Settle("k", 10, "before 10");
  CHECK_FALSE(f.spiller.CanSpill());
  CHECK_FALSE(f.spiller.SpillSettled());
  CHECK(f.settled.count() == 1);
  CHECK_FALSE(f.spiller.HasAny());
  CHECK_FALSE(f.spiller.HasAfter(0));
  CHECK_FALSE(f.spiller.HasUndo());
  CHECK(f.spiller.versions() + f.spiller.disk_bytes() + f.spiller.bytes() == 0);
  f.spiller.SetFilterBytes(1 << 20);
  f.spiller.DropUnneeded();
}

TEST_CASE("settled versions leave memory and are found on the device until nobody needs them") {
  Fixture f;
  f.SetDevice();
  Txn old_reader;
  REQUIRE(f.snapshots.Begin(old_reader).ok());
  f.snapshots.ForReading(old_reader);
  f.Settle("k", 10, "before 10");
  REQUIRE(f.spiller.SpillSettled());
  CHECK(f.settled.empty());
  CHECK(f.spiller.HasAfter(9));
  CHECK_FALSE(f.spiller.HasAfter(10));
  CHECK_FALSE(f.spiller.HasUndo());
  CHECK(f.spiller.NewestOf(nullptr, VersionTable::HashOf(kTree, "k"), 0).ts == 10);

  VersionRun::Oldest oldest;
  std::string old;
  REQUIRE(
      f.spiller.Find(old_reader, VersionTable::HashOf(kTree, "k"), kTree, "k", &oldest, &old).ok());
  CHECK(oldest.found);
  CHECK(old == "before 10");
  f.spiller.DropUnneeded();
  CHECK(f.spiller.HasAny());
  f.snapshots.End(old_reader);
}

TEST_CASE("the undo of a writer moves whole: its keys stay locked, and its rollback finds it") {
  Fixture f;
  f.SetDevice();
  Txn txn;
  REQUIRE(f.snapshots.Begin(txn).ok());
  for (const char* key : {"a", "b", "c"}) f.Write(txn, key, std::string("old ") + key);
  REQUIRE(f.spiller.SpillUndo(txn).ok());
  CHECK(f.counters.CountVersions() == 0);
  CHECK(f.spiller.HasUndo());
  WriteRecord* record = nullptr;
  for (const char* key : {"a", "b", "c"}) {
    const uint64_t hash = VersionTable::HashOf(kTree, key);
    CHECK(f.table.FindNewest(hash, kTree, key).entry == nullptr);
    const VersionSpill::Newest newest = f.spiller.NewestOf(nullptr, hash, 0);
    REQUIRE(newest.running.record != nullptr);
    CHECK(newest.running.id == txn.id());
    CHECK(f.spiller.NewestOf(newest.running.record, hash, 0).running.record == nullptr);
    record = newest.running.record;
  }
  std::vector<std::string> restored;
  REQUIRE(f.spiller
              .RestoreUndo(*record,
                           [&](const Undo& undo) {
                             restored.emplace_back(undo.old.bytes);
                             return absl::OkStatus();
                           })
              .ok());
  CHECK(restored == std::vector<std::string>{"old a", "old b", "old c"});
  f.EndRolledBack(txn, record);
}

TEST_CASE("the undo of a writer stays in memory if it has written in a gap that answers for it") {
  Fixture f;
  f.SetDevice();
  Txn txn;
  REQUIRE(f.snapshots.Begin(txn).ok());
  f.snapshots.ForReading(txn);
  f.gaps.NoteFor(txn.snapshot().read_ts + 1);
  f.gaps.Note(kTree, {.lower = "b", .upper = "d"});
  f.Write(txn, "a", "old a");
  REQUIRE(f.spiller.SpillUndo(txn).ok());  // gaps elsewhere do not matter
  f.Write(txn, "c", "");
  CHECK(absl::IsFailedPrecondition(f.spiller.SpillUndo(txn)));
  VersionEntry* const kept = f.table.FindNewest(VersionTable::HashOf(kTree, "c"), kTree, "c").entry;
  REQUIRE(kept != nullptr);
  WriteRecord* const record = kept->writer;
  f.table.Unlink(*kept);
  record->newest = nullptr;
  f.EndRolledBack(txn, record);
}

}  // namespace
}  // namespace latchkey::version_spiller_test
