#include "engine/txn/snapshot_manager.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "engine/txn/write_record.h"
#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::snapshot_manager_test {
namespace {

struct Fixture {
  SnapshotManager snapshots{ThreadRuntime(), TxnId{100}};

  CommitTs Commit(Txn& txn) {
    std::atomic<uint64_t> commit_ts{WriteRecord::kRunning};
    const CommitTs ts = snapshots.StampCommit(commit_ts);
    CHECK(commit_ts.load() == ts);
    snapshots.End(txn);
    return ts;
  }
};

TEST_CASE("a transaction takes its snapshot at its first read, not at its begin") {
  Fixture f;
  Txn reader, writer;
  REQUIRE(f.snapshots.Begin(reader).ok());
  REQUIRE(f.snapshots.Begin(writer).ok());
  f.snapshots.DrawTxnId(writer);
  const CommitTs ts = f.Commit(writer);
  CHECK(f.snapshots.ForReading(reader).read_ts == ts);
  f.snapshots.End(reader);
}

TEST_CASE("a page is wholly visible once its last writer has finished, and not before") {
  Fixture f;
  Txn writer, during, after;
  REQUIRE(f.snapshots.Begin(writer).ok());
  const TxnId id = f.snapshots.DrawTxnId(writer);
  f.snapshots.RefreshBounds();
  REQUIRE(f.snapshots.Begin(during).ok());
  CHECK_FALSE(f.snapshots.ForReading(during).SeesAllOf(id));
  CHECK(f.snapshots.all_visible_below() <= id);
  f.Commit(writer);
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.all_visible_below() > id);
  CHECK_FALSE(f.snapshots.ForReading(during).SeesAllOf(id));
  REQUIRE(f.snapshots.Begin(after).ok());
  CHECK(f.snapshots.ForReading(after).SeesAllOf(id));
  f.snapshots.End(during);
  f.snapshots.End(after);
}

TEST_CASE("an unfinished writer holds the bound down for the writers after it") {
  Fixture f;
  Txn slow, quick;
  REQUIRE(f.snapshots.Begin(slow).ok());
  const TxnId slow_id = f.snapshots.DrawTxnId(slow);
  REQUIRE(f.snapshots.Begin(quick).ok());
  f.snapshots.DrawTxnId(quick);
  f.Commit(quick);
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.all_visible_below() == slow_id);
  f.Commit(slow);
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.all_visible_below() == f.snapshots.next_txn_id());
}

TEST_CASE("the oldest snapshot follows the oldest reader") {
  Fixture f;
  Txn reader, writer;
  REQUIRE(f.snapshots.Begin(reader).ok());
  const CommitTs read_ts = f.snapshots.ForReading(reader).read_ts;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(f.snapshots.Begin(writer).ok());
    f.snapshots.DrawTxnId(writer);
    f.Commit(writer);
  }
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.oldest_snapshot() == read_ts);
  f.snapshots.End(reader);
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.oldest_snapshot() == f.snapshots.clock());
}

TEST_CASE("the oldest snapshot expires, wherever in the slots it stands") {
  const size_t oldest = GENERATE(0u, 1u, 2u, 3u);
  Fixture f;
  Txn readers[4], writer;
  for (Txn& reader : readers) REQUIRE(f.snapshots.Begin(reader).ok());
  REQUIRE(f.snapshots.Begin(writer).ok());
  const auto commit = [&] {
    if (!writer.active()) REQUIRE(f.snapshots.Begin(writer).ok());
    f.snapshots.DrawTxnId(writer);
    f.Commit(writer);
  };
  for (size_t i = 0; i < 4; ++i) {
    f.snapshots.ForReading(readers[(oldest + i) % 4]);
    commit();
  }
  for (size_t gone = 1; gone <= 4; ++gone) {
    REQUIRE(f.snapshots.ExpireOldest());
    for (size_t i = 0; i < 4; ++i) {
      CHECK(f.snapshots.Expired(readers[(oldest + i) % 4]) == (i < gone));
    }
  }
  CHECK_FALSE(f.snapshots.ExpireOldest());
  for (Txn& reader : readers) f.snapshots.End(reader);
}

TEST_CASE("a transaction that has read nothing can move its snapshot") {
  Fixture f;
  Txn txn, writer;
  REQUIRE(f.snapshots.Begin(txn).ok());
  f.snapshots.ForWriting(txn);
  CHECK_FALSE(txn.has_read());
  REQUIRE(f.snapshots.Begin(writer).ok());
  f.snapshots.DrawTxnId(writer);
  const CommitTs ts = f.Commit(writer);
  CHECK(txn.snapshot().read_ts < ts);
  f.snapshots.RenewSnapshot(txn, ts);
  CHECK(txn.snapshot().read_ts == ts);
  f.snapshots.End(txn);
}

TEST_CASE("a renewed snapshot includes the commit it was renewed for, however fresh") {
  Fixture f;
  Txn txn, writer;
  REQUIRE(f.snapshots.Begin(txn).ok());
  REQUIRE(f.snapshots.Begin(writer).ok());
  f.snapshots.ForWriting(txn);
  f.snapshots.DrawTxnId(writer);
  // A timestamp that its record shows already and the clock does not yet.
  const CommitTs coming = f.snapshots.clock() + 1;
  auto actor = ThreadRuntime().Spawn("renewer", [&] { f.snapshots.RenewSnapshot(txn, coming); });
  CHECK(f.Commit(writer) == coming);
  actor->Join();
  CHECK(txn.snapshot().read_ts == coming);
  f.snapshots.End(txn);
}

TEST_CASE(
    "one transaction more than there are slots is refused, and a returned slot serves again") {
  Fixture f;
  std::vector<std::unique_ptr<Txn>> txns;
  for (uint32_t i = 0; i < SnapshotManager::kMaxTransactions; ++i) {
    txns.push_back(std::make_unique<Txn>());
    REQUIRE(f.snapshots.Begin(*txns.back()).ok());
  }
  Txn extra;
  const absl::Status refused = f.snapshots.Begin(extra);
  CHECK(refused.code() == absl::StatusCode::kResourceExhausted);
  CHECK_FALSE(extra.active());
  f.snapshots.End(*txns[17]);
  CHECK(f.snapshots.Begin(extra).ok());
  f.snapshots.End(extra);
  txns[17].reset();
  for (auto& txn : txns) {
    if (txn) f.snapshots.End(*txn);
  }
}

TEST_CASE("an abandoned writer keeps the bound below it for good") {
  Fixture f;
  Txn broken, other;
  REQUIRE(f.snapshots.Begin(broken).ok());
  const TxnId id = f.snapshots.DrawTxnId(broken);
  f.snapshots.Abandon(broken);
  REQUIRE(f.snapshots.Begin(other).ok());
  f.snapshots.DrawTxnId(other);
  f.Commit(other);
  f.snapshots.RefreshBounds();
  CHECK(f.snapshots.all_visible_below() == id);
  CHECK(f.snapshots.oldest_snapshot() == f.snapshots.clock());
}

TEST_CASE("a snapshot is a long one once enough commits came after it, unless it notes its reads") {
  Fixture f;
  const auto commit = [&f](uint64_t commits) {
    for (uint64_t i = 0; i < commits; ++i) {
      Txn txn;
      REQUIRE(f.snapshots.Begin(txn).ok());
      f.snapshots.DrawTxnId(txn);
      f.Commit(txn);
    }
    f.snapshots.RefreshBounds();
    return f.snapshots.long_bounds();
  };
  Txn idle, later, noting;
  REQUIRE(f.snapshots.Begin(idle).ok());
  const CommitTs first = f.snapshots.ForReading(idle).read_ts;
  SnapshotManager::LongBounds bounds = commit(SnapshotManager::kCommitsOfLong - 1);
  CHECK(bounds.long_below == 0);
  CHECK(bounds.others_from == first);
  REQUIRE(f.snapshots.Begin(later).ok());
  const CommitTs second = f.snapshots.ForReading(later).read_ts;
  REQUIRE(f.snapshots.Begin(noting).ok());
  noting.TrackReads();
  f.snapshots.ForReading(noting);
  bounds = commit(1);
  CHECK(bounds.long_below == first + 1);
  CHECK(bounds.others_from == second);
  bounds = commit(SnapshotManager::kCommitsOfLong);
  CHECK(bounds.long_below == second + 1);
  CHECK(bounds.others_from == second);  // of the one that notes its reads
  f.snapshots.End(noting);
  f.snapshots.End(later);
  bounds = commit(1);
  CHECK(bounds.long_below == first + 1);
  CHECK(bounds.others_from == f.snapshots.clock());
  f.snapshots.End(idle);
  CHECK(commit(1).long_below == 0);
}

TEST_CASE("no snapshot reads between the bounds of the long ones and the others") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, 9));
  CAPTURE(seed);
  SimulatedRuntime runtime{SimulationOptions{.seed = seed}};
  const absl::Status ran = runtime.Run([&] {
    SnapshotManager snapshots(runtime, TxnId{100});
    int violations = 0, long_ones = 0;
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint64_t a = 0; a < 4; ++a) {
      actors.push_back(runtime.Spawn("txn", [&, a] {
        Rng rng(seed * 10 + a);
        const bool is_slow = a == 0;
        for (int i = 0; i < (is_slow ? 8 : 600); ++i) {
          Txn txn;
          LATCHKEY_CHECK(snapshots.Begin(txn).ok());
          if (rng.Below(8) == 0) txn.TrackReads();
          const CommitTs read_ts = snapshots.ForReading(txn).read_ts;
          const uint64_t rests = is_slow ? rng.Below(400) : rng.Below(3);
          for (uint64_t rest = 0; rest < rests; ++rest) {
            runtime.SleepFor(1 + rng.Below(1000));
            if (rng.Below(4) == 0) snapshots.RefreshBounds();
            const SnapshotManager::LongBounds bounds = snapshots.long_bounds();
            long_ones += bounds.long_below != 0;
            violations += read_ts >= bounds.long_below && read_ts < bounds.others_from;
          }
          snapshots.DrawTxnId(txn);
          std::atomic<uint64_t> commit_ts{0};
          snapshots.StampCommit(commit_ts);
          snapshots.End(txn);
        }
      }));
    }
    for (auto& actor : actors) actor->Join();
    CHECK(violations == 0);
    CHECK(long_ones > 0);
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("no scan overtakes a writer or a snapshot while actors come and go") {
  SnapshotManager snapshots(ThreadRuntime());
  constexpr int kActors = 4, kRounds = 3000;
  std::atomic<int> violations{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("txn", [&, a] {
      for (int i = 0; i < kRounds; ++i) {
        Txn txn;
        LATCHKEY_CHECK(snapshots.Begin(txn).ok());
        const Snapshot snapshot = snapshots.ForReading(txn);
        snapshots.RefreshBounds();
        if (snapshots.oldest_snapshot() > snapshot.read_ts) ++violations;
        const SnapshotManager::LongBounds bounds = snapshots.long_bounds();
        const CommitTs read_ts = snapshot.read_ts;
        if (read_ts >= bounds.long_below && read_ts < bounds.others_from) ++violations;
        if ((i + a) % 2 == 0) {
          const TxnId id = snapshots.DrawTxnId(txn);
          snapshots.RefreshBounds();
          if (snapshots.all_visible_below() > id || snapshot.SeesAllOf(id)) ++violations;
          std::atomic<uint64_t> commit_ts{0};
          snapshots.StampCommit(commit_ts);
        }
        snapshots.End(txn);
      }
    }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(violations == 0);
  snapshots.RefreshBounds();
  CHECK(snapshots.all_visible_below() == snapshots.next_txn_id());
  CHECK(snapshots.oldest_snapshot() == snapshots.clock());
}

}  // namespace
}  // namespace latchkey::snapshot_manager_test
