#include "engine/txn/version_budget.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "engine/txn/version_table.h"

namespace latchkey::version_budget_test {
namespace {

constexpr TreeId kTree{3};

struct Fixture {
  SnapshotManager snapshots{ThreadRuntime()};
  RecordPool pool{ThreadRuntime()};
  KnownWrites known{ThreadRuntime()};
  SettledVersions settled{ThreadRuntime(), known};
  EmptyGaps gaps{ThreadRuntime()};
  VersionBudget budget{pool, known, settled, gaps};

  void Begin(Txn& txn) {
    REQUIRE(snapshots.Begin(txn).ok());
    txn.TrackReads();
  }
  void Read(Txn& txn, int keys) {
    for (int i = 0; i < keys; ++i) {
      const std::string key = fmt::format("key {:08}", i);
      txn.reads()->AddKey(kTree, VersionTable::HashOf(kTree, key));
      budget.AccountReads(txn);
    }
  }
};

bool HoldsWholeTree(Txn& txn) {
  txn.reads()->Prepare();
  return txn.reads()->Covers(kTree, "never read", VersionTable::HashOf(kTree, "never read"));
}

TEST_CASE("the account holds the bytes of every read set until it is released") {
  Fixture f;
  Txn one, two;
  f.Begin(one);
  f.Begin(two);
  CHECK(f.budget.used() == 0);
  f.Read(one, 5'000);
  const uint64_t after_one = f.budget.used();
  CHECK(after_one >= one.reads()->bytes());
  f.Read(two, 5'000);
  CHECK(f.budget.used() >= one.reads()->bytes() + two.reads()->bytes());
  f.budget.ReleaseReads(two);
  CHECK(f.budget.used() == after_one);
  f.budget.ReleaseReads(two);
  CHECK(f.budget.used() == after_one);
  f.budget.ReleaseReads(one);
  CHECK(f.budget.used() == 0);
  f.snapshots.End(one);
  f.snapshots.End(two);
}

TEST_CASE("read sets beyond their quarter of the bound are coarsened, smaller ones stay exact") {
  Fixture f;
  f.budget.SetBound(256 << 10);
  Txn small, large;
  f.Begin(small);
  f.Begin(large);
  f.Read(small, 100);
  f.Read(large, 50'000);
  CHECK(HoldsWholeTree(large));
  CHECK_FALSE(HoldsWholeTree(small));
  CHECK(f.budget.used() <= (256 << 10) / 4);
  f.budget.ReleaseReads(small);
  f.budget.ReleaseReads(large);
  CHECK(f.budget.used() == 0);
  f.snapshots.End(small);
  f.snapshots.End(large);
}

TEST_CASE("without a bound no read set is coarsened") {
  Fixture f;
  Txn large;
  f.Begin(large);
  f.Read(large, 50'000);
  CHECK_FALSE(HoldsWholeTree(large));
  f.budget.ReleaseReads(large);
  f.snapshots.End(large);
}

}  // namespace
}  // namespace latchkey::version_budget_test
