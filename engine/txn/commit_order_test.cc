// The commit order alone: writers with entries, no pages and no collection.
#include "engine/txn/commit_order.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/txn/version_writer.h"

namespace latchkey::commit_order_test {
namespace {

constexpr TreeId kTree{3};

struct Fixture {
  SnapshotManager snapshots{ThreadRuntime()};
  VersionCounters counters{ThreadRuntime()};
  VersionTable table{ThreadRuntime()};
  RecordPool pool{ThreadRuntime()};
  KnownWrites known{ThreadRuntime()};
  VersionWriter writer{ThreadRuntime(), snapshots, table, pool, known, counters};
  CommitOrder order{snapshots, counters};

  std::unique_ptr<Txn> Begin(bool serializable = false) {
    auto txn = std::make_unique<Txn>();
    REQUIRE(snapshots.Begin(*txn).ok());
    if (serializable) txn->TrackReads();
    snapshots.ForReading(*txn);
    return txn;
  }
  void Write(Txn& txn, const std::string& key, Change change = Change::kPut) {
    WriteCheck check;
    check.hash = VersionTable::HashOf(kTree, key);
    writer.Install(txn, check, kTree, key, {}, change);
  }
  static void Read(Txn& txn, const std::string& key) {
    txn.reads()->AddKey(kTree, VersionTable::HashOf(kTree, key));
  }
  absl::StatusOr<CommitTs> Commit(Txn& txn) {
    const absl::StatusOr<CommitTs> ts = order.Append(
        txn, [](CommitTs) { return true; }, [] {});
    snapshots.End(txn);
    return ts;
  }
  void CommitWriteOf(const std::string& key, Change change = Change::kPut) {
    auto txn = Begin();
    Write(*txn, key, change);
    REQUIRE(Commit(*txn).ok());
  }
};

TEST_CASE("commits take the places of the order one after the other") {
  Fixture f;
  for (CommitTs expected = 1; expected <= 5; ++expected) {
    auto txn = f.Begin(/*serializable=*/expected % 2 == 0);
    f.Write(*txn, "k");
    const absl::StatusOr<CommitTs> ts = f.Commit(*txn);
    REQUIRE(ts.ok());
    CHECK(*ts == expected);
    CHECK(f.snapshots.clock() == expected);
  }
}

TEST_CASE("a commit that lacks something at its place leaves no trace and tries again") {
  Fixture f;
  for (const bool serializable : {false, true}) {
    auto txn = f.Begin(serializable);
    if (serializable) Fixture::Read(*txn, "r");
    f.Write(*txn, "k");
    const CommitTs before = f.snapshots.clock();
    std::vector<CommitTs> places;
    int retries = 0;
    const auto ts = f.order.Append(
        *txn,
        [&](CommitTs next) {
          places.push_back(next);
          return places.size() == 3;
        },
        [&] {
          ++retries;
          CHECK(f.snapshots.clock() == before);
        });
    REQUIRE(ts.ok());
    CHECK(places == std::vector<CommitTs>(3, before + 1));
    CHECK(retries == 2);
    f.snapshots.End(*txn);
  }
}

TEST_CASE("validation finds a change of a read key wherever it is among many later commits") {
  // More commits than are checked inside the critical section.
  constexpr int kLater = 20;
  for (int changed = 0; changed < kLater; ++changed) {
    Fixture f;
    f.CommitWriteOf("read");  // before the snapshot
    auto txn = f.Begin(/*serializable=*/true);
    Fixture::Read(*txn, "read");
    f.Write(*txn, "own");
    for (int i = 0; i < kLater; ++i) {
      f.CommitWriteOf(i == changed ? "read" : "other " + std::to_string(i));
    }
    const absl::StatusOr<CommitTs> ts = f.Commit(*txn);
    CHECK(absl::IsAborted(ts.status()));
    CHECK(f.snapshots.clock() == 1 + kLater);
    VersionStoreStats stats;
    f.counters.AddTo(&stats);
    CHECK(stats.serializable_refused == 1);
  }
}

TEST_CASE("commits before the snapshot, of other keys, and mere locks refuse nobody") {
  Fixture f;
  f.CommitWriteOf("read");
  auto txn = f.Begin(/*serializable=*/true);
  Fixture::Read(*txn, "read");
  f.Write(*txn, "own");
  for (int i = 0; i < 20; ++i) f.CommitWriteOf("other " + std::to_string(i));
  f.CommitWriteOf("read", Change::kLock);
  CHECK(f.Commit(*txn).ok());
}

TEST_CASE("a change that commits while its reader waits to try again still refuses the reader") {
  Fixture f;
  auto txn = f.Begin(/*serializable=*/true);
  Fixture::Read(*txn, "read");
  f.Write(*txn, "own");
  int attempts = 0;
  const auto ts = f.order.Append(
      *txn, [&](CommitTs) { return ++attempts > 1; }, [&] { f.CommitWriteOf("read"); });
  CHECK(absl::IsAborted(ts.status()));
  CHECK(attempts == 1);
  f.snapshots.End(*txn);
}

TEST_CASE("a serializable writer whose snapshot has expired is told so") {
  Fixture f;
  auto txn = f.Begin(/*serializable=*/true);
  f.Write(*txn, "own");
  f.CommitWriteOf("other");
  REQUIRE(f.snapshots.ExpireOldest());
  const absl::Status refused = f.Commit(*txn).status();
  CHECK(absl::IsAborted(refused));
  CHECK(refused.message().find("snapshot too old") != absl::string_view::npos);
}

}  // namespace
}  // namespace latchkey::commit_order_test
