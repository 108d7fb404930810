// Gaps: what they cover, how they unite, for which snapshots they answer and when they go. And beside a
// long snapshot: what appended records leave behind, and what its readers and writers see.
#include "engine/txn/empty_gaps.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/base/rng.h"
#include "storage/device/memory_device.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::empty_gaps_test {
namespace {

constexpr TreeId kTree{3}, kOther{4};

// Snapshots that read at these timestamps, and perhaps others from 1,000 on.
LiveSnapshots Live(std::vector<CommitTs> read_ts) {
  const CommitTs oldest = read_ts.empty() ? 1000 : read_ts.front();
  return {.read_ts = std::move(read_ts), .as_of = 1000, .oldest = oldest};
}

struct Gaps : EmptyGaps {
  Gaps() : EmptyGaps(ThreadRuntime()) { NoteFor(11); }
  void NoteBetween(const std::string& lower, const std::string& upper) {
    Note(kTree, {.lower = lower, .upper = upper});
  }
  bool Covers(const std::string& key) { return IsEmptyFor(10, kTree, key); }
};

TEST_CASE("a gap covers the keys between its ends, in its tree") {
  Gaps gaps;
  gaps.NoteBetween("b", "d");
  CHECK_FALSE(gaps.Covers("a"));
  CHECK_FALSE(gaps.Covers("b"));
  CHECK(gaps.Covers(std::string("b\0", 2)));
  CHECK(gaps.Covers("c"));
  CHECK_FALSE(gaps.Covers("d"));
  CHECK_FALSE(gaps.Covers("e"));
  CHECK_FALSE(gaps.IsEmptyFor(10, kOther, "c"));
  gaps.Note(kOther, {.lower = "x", .upper = {}, .has_upper = false});
  CHECK(gaps.IsEmptyFor(10, kOther, "z"));
  CHECK_FALSE(gaps.IsEmptyFor(10, kOther, "x"));
  CHECK_FALSE(gaps.IsEmptyFor(10, TreeId{5}, "a"));
}

TEST_CASE("gaps that overlap are one, and gaps that only touch do not cover the key between them") {
  Gaps gaps;
  gaps.NoteBetween("b", "d");
  gaps.NoteBetween("d", "f");
  CHECK(gaps.count() == 2);
  CHECK_FALSE(gaps.Covers("d"));
  gaps.NoteBetween("c", "e");
  CHECK(gaps.count() == 1);
  CHECK(gaps.Covers("d"));
  CHECK_FALSE(gaps.Covers("b"));
  CHECK_FALSE(gaps.Covers("f"));
}

TEST_CASE("united gaps cover exactly the keys of their parts") {
  Gaps gaps;
  Rng rng(7);
  constexpr uint64_t kKeys = 60;
  const auto key = [](uint64_t i) { return fmt::format("{:03}", i); };
  bool covered[kKeys] = {};
  for (int round = 0; round < 400; ++round) {
    if (round % 20 == 0) {  // otherwise all is one gap after a few rounds
      gaps.Tidy(Live({}));
      std::fill(std::begin(covered), std::end(covered), false);
      REQUIRE(gaps.bytes() == 0);
    }
    const uint64_t lower = rng.Below(kKeys), upper = lower + 1 + rng.Below(6);
    const bool to_end = rng.Below(50) == 0;
    gaps.Note(kTree,
              {.lower = key(lower), .upper = to_end ? "" : key(upper), .has_upper = !to_end});
    for (uint64_t i = lower + 1; i < kKeys && (to_end || i < upper); ++i) covered[i] = true;
    for (uint64_t i = 0; i < kKeys; ++i) REQUIRE(gaps.Covers(key(i)) == covered[i]);
  }
}

TEST_CASE("a gap answers for the snapshots for which it was noted, until all have ended") {
  Gaps gaps;
  gaps.NoteBetween("b", "d");
  CHECK(gaps.IsEmptyFor(0, kTree, "c"));
  CHECK(gaps.IsEmptyFor(10, kTree, "c"));
  CHECK_FALSE(gaps.IsEmptyFor(11, kTree, "c"));
  gaps.NoteFor(21);
  gaps.NoteBetween("c", "d");
  CHECK(gaps.EmptyBelow(kTree, "bb") == 11);
  CHECK(gaps.EmptyBelow(kTree, "cc") == 21);
  gaps.Tidy(Live({10, 20}));
  CHECK(gaps.count() == 2);
  gaps.Tidy(Live({11, 20}));
  CHECK(gaps.count() == 1);
  CHECK_FALSE(gaps.IsEmptyFor(10, kTree, "bb"));
  CHECK(gaps.IsEmptyFor(20, kTree, "cc"));
  // The newer snapshot has ended, and gaps are noted for the older one again. They answer for both.
  gaps.NoteFor(15);
  gaps.NoteBetween("x", "z");
  CHECK(gaps.IsEmptyFor(14, kTree, "y"));
  gaps.Tidy(Live({21}));
  CHECK(gaps.count() == 0);
  CHECK(gaps.bytes() == 0);
  CHECK(gaps.below() == 0);
}

// Beside one old snapshot many younger ones came and went, and each left gaps of its own.
TEST_CASE("gaps for snapshots that have ended are united with those for older ones that stay") {
  Gaps gaps;
  for (CommitTs below = 11; below < 500; below += 10) {
    gaps.NoteFor(below);
    gaps.NoteBetween("b", "d");
    gaps.NoteBetween("x" + std::to_string(below), "y");
    gaps.Tidy(Live({5, below - 1}));
  }
  // Those of the snapshot at 490, and for that at 5 all others in one.
  CHECK(gaps.count() == 4);
  CHECK(gaps.EmptyBelow(kTree, "c") == 491);
  CHECK(gaps.EmptyBelow(kTree, "x0") == 0);
  CHECK(gaps.IsEmptyFor(5, kTree, "x12"));
  CHECK_FALSE(gaps.IsEmptyFor(490, kTree, "x12"));
  CHECK(gaps.IsEmptyFor(490, kTree, "x5"));
  // Snapshots that are not in the list, because they came later, read from as_of on.
  gaps.NoteFor(1500);
  gaps.NoteBetween("b", "d");
  gaps.Tidy(Live({5}));
  CHECK(gaps.EmptyBelow(kTree, "c") == 1500);
  CHECK(gaps.EmptyBelow(kTree, "x12") == 491);
}

TEST_CASE("a search that remembers its last gap finds what one without a memory finds") {
  Gaps gaps;
  EmptyGaps::Search search(gaps);
  const auto key = [](uint64_t i) { return fmt::format("{:03}", i); };
  const std::string tail(100, 'x');
  Rng rng(3);
  for (uint64_t i = 0; i < 90; i += 10) {
    // Some ends are too long to be remembered.
    gaps.NoteBetween(key(i) + (i % 20 == 0 ? tail : ""), key(i + 1 + rng.Below(8)));
    gaps.Note(kOther, {.lower = key(i + 5), .upper = key(i + 9) + (i % 30 == 0 ? tail : "")});
  }
  gaps.Note(kOther, {.lower = "200", .upper = {}, .has_upper = false});
  uint64_t near = 0;
  for (int i = 0; i < 20'000; ++i) {
    near = rng.Below(4) == 0 ? rng.Below(300) : near + rng.Below(2);
    const TreeId tree = rng.Below(8) == 0 ? kOther : kTree;
    const std::string asked = key(near) + (rng.Below(3) == 0 ? tail : "");
    INFO(asked);
    REQUIRE(search.EmptyBelow(tree, asked) == gaps.EmptyBelow(tree, asked));
  }
}

TEST_CASE("what a search remembers of a gap that was dropped says nothing of later snapshots") {
  Gaps gaps;
  EmptyGaps::Search search(gaps);
  gaps.NoteBetween("b", "d");
  CHECK(search.EmptyBelow(kTree, "c") == 11);
  gaps.Tidy(Live({11}));
  CHECK(gaps.EmptyBelow(kTree, "c") == 0);
  CHECK(search.EmptyBelow(kTree, "c") == 11);  // no snapshot below 11 is left
  CHECK(search.EmptyBelow(kTree, "d") == 0);
}

TEST_CASE("the snapshot of timestamp 0 has gaps like any other") {
  Gaps gaps;
  CHECK_FALSE(gaps.IsEmptyFor(0, kTree, "c"));
  gaps.NoteFor(0);
  CHECK_FALSE(gaps.IsWanted(1000));
  gaps.NoteFor(1);
  gaps.NoteBetween("b", "d");
  CHECK(gaps.IsEmptyFor(0, kTree, "c"));
  CHECK_FALSE(gaps.IsEmptyFor(1, kTree, "c"));
}

TEST_CASE("gaps are worth noting behind a key that was inserted lately, once") {
  Gaps gaps;
  CHECK_FALSE(gaps.IsWorthNoting(kTree, "b1", "b0"));
  CHECK(gaps.IsWorthNoting(kTree, "b2", "b1"));
  gaps.NoteBetween("b1", "d");
  CHECK_FALSE(gaps.IsWorthNoting(kTree, "b3", "b2"));
  CHECK_FALSE(gaps.IsWorthNoting(kTree, "b4", "b3"));
  // For another snapshot it is noted anew.
  gaps.NoteFor(21);
  CHECK(gaps.IsWorthNoting(kTree, "b5", "b4"));
}

TEST_CASE("gaps take no more than their share of memory, and none is noted when none is wanted") {
  Gaps gaps;
  gaps.SetMostBytes(10'000);
  for (int i = 0; i < 1000; ++i) {
    const std::string left = fmt::format("{:04}a", i);
    gaps.IsWorthNoting(kTree, left, "");
    if (gaps.IsWorthNoting(kTree, left + "1", left)) gaps.NoteBetween(left, left + "b");
  }
  CHECK(gaps.count() > 10);
  CHECK(gaps.bytes() < 10'500);
  gaps.NoteFor(0);
  gaps.SetMostBytes(SIZE_MAX);
  const uint64_t count = gaps.count();
  gaps.NoteBetween("y", "z");
  CHECK(gaps.count() == count);
}

TEST_CASE("gaps are not noted at inserts of a transaction for which they would answer") {
  Gaps gaps;
  CHECK_FALSE(gaps.IsWanted(10));
  CHECK(gaps.IsWanted(11));
}

// ---- In the version store

// Appends beside a long snapshot, with a reclaimer, in a simulated runtime.
struct Store {
  Runtime& runtime;
  ToyTree tree{runtime};
  int appended = 0;

  explicit Store(Runtime& simulated) : runtime(simulated) {
    auto device = MemoryDevice::Create(runtime, {.name = "spill"});
    LATCHKEY_CHECK(device.ok());
    tree.store.SetSpill(*std::move(device), 64 << 20);
    tree.store.SetBound(256 << 10);
    Put("a", "first");
    tree.store.StartReclaimer();
  }
  void Put(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void Delete(const std::string& key) { tree.DeleteNow(key); }
  // A snapshot from before the first append.
  void BeginEarly(Txn& txn) {
    REQUIRE(tree.Begin(txn).ok());
    CHECK(tree.Get(txn, "a") == "first");
  }
  void CheckSeesNoAppend(Txn& txn) {
    for (int i = 0; i < appended; ++i) CHECK_FALSE(tree.Get(txn, KeyOf(i)));
  }
  static std::string KeyOf(int i) { return fmt::format("a{:08}", i); }
  void Append(int commits) {
    for (int i = 0; i < commits; ++i) {
      Put(KeyOf(appended++), "v");
      if (i % 16 == 0) runtime.SleepFor(1'000'000);  // the reclaimer's turn
    }
  }
};

void InSimulation(const std::function<void(Runtime&)>& body) {
  SimulatedRuntime runtime{SimulationOptions{.seed = 1}};
  const absl::Status ran = runtime.Run([&] { body(runtime); });
  INFO(ran);
  REQUIRE(ran.ok());
}

TEST_CASE("beside a long snapshot, appended records and their changes keep no versions") {
  InSimulation([](Runtime& runtime) {
    Store s(runtime);
    Txn reader;
    s.BeginEarly(reader);
    s.Append(2000);
    CHECK(s.tree.store.gaps().count() == 1);
    const uint64_t before = s.tree.store.stats().versions;
    CHECK(before < 1000);  // of the inserts before there was a gap
    s.Append(2000);
    for (int i = 1000; i < 3000; ++i) s.Put(Store::KeyOf(i), "changed");
    s.runtime.SleepFor(1'000'000);
    CHECK(s.tree.store.stats().versions < before + 300);
    s.CheckSeesNoAppend(reader);
    REQUIRE(s.tree.Commit(reader).ok());
    Txn now;
    REQUIRE(s.tree.Begin(now).ok());
    CHECK(s.tree.Get(now, Store::KeyOf(2999)) == "changed");
    CHECK(s.tree.Get(now, Store::KeyOf(3999)) == "v");
    REQUIRE(s.tree.Commit(now).ok());
    s.tree.store.CollectAll();
    CHECK(s.tree.store.gaps().count() == 0);
    CHECK(s.tree.store.stats().version_bytes == 0);
  });
}

TEST_CASE("a snapshot sees what was appended before it, and nothing behind") {
  InSimulation([](Runtime& runtime) {
    Store s(runtime);
    Txn first, second;
    s.BeginEarly(first);
    s.Append(1500);
    REQUIRE(s.tree.Begin(second).ok());
    CHECK(s.tree.Get(second, Store::KeyOf(1499)) == "v");
    s.Append(1500);
    for (int i = 0; i < s.appended; i += 3) s.Put(Store::KeyOf(i), "changed");
    for (int i = 1; i < s.appended; i += 3) s.Delete(Store::KeyOf(i));
    s.Append(300);
    s.tree.store.CollectAll();
    s.CheckSeesNoAppend(first);
    for (int i = 0; i < s.appended; ++i) {
      INFO(i);
      const auto seen = s.tree.Get(second, Store::KeyOf(i));
      CHECK(seen == (i < 1500 ? std::optional<std::string>("v") : std::nullopt));
    }
    REQUIRE(s.tree.Commit(second).ok());
    REQUIRE(s.tree.Commit(first).ok());
    s.tree.store.CollectAll();
    CHECK(s.tree.store.stats().versions == 0);
    CHECK(s.tree.CountGhosts() == 0);
  });
}

TEST_CASE("a transaction with a long snapshot is refused for keys inserted into a gap since") {
  InSimulation([](Runtime& runtime) {
    Store s(runtime);
    Txn old;
    s.BeginEarly(old);
    s.Append(3000);
    s.Put("a7", "in the gap");
    s.Put("a8", "in the gap");
    s.Delete("a8");
    s.Append(600);
    REQUIRE(s.tree.store.gaps().IsEmptyFor(old.snapshot().read_ts, ToyTree::kTree, "a7"));
    // Its own inserts into the gap are its own, and it may change them.
    REQUIRE(s.tree.Put(old, "a9", "own").ok());
    CHECK(s.tree.Get(old, "a9") == "own");
    REQUIRE(s.tree.Put(old, "a9", "own, again").ok());
    CHECK(s.tree.Get(old, "a9") == "own, again");
    CHECK_FALSE(s.tree.Get(old, "a7"));
    CHECK(absl::IsAborted(s.tree.Put(old, "a7", "lost update")));
    CHECK(absl::IsAborted(s.tree.Put(old, "a8", "lost update")));
    REQUIRE(s.tree.Rollback(old).ok());
  });
}

// No record says so, and the gap says that there is none.
TEST_CASE("a lock of a key in a gap refuses a transaction with a long snapshot after its commit") {
  InSimulation([](Runtime& runtime) {
    Store s(runtime);
    Txn old;
    s.BeginEarly(old);
    s.Append(1000);
    const std::string missing = Store::KeyOf(999) + "x";
    REQUIRE(s.tree.store.gaps().IsEmptyFor(old.snapshot().read_ts, ToyTree::kTree, missing));
    Txn locking;
    std::optional<std::string> value;
    REQUIRE(s.tree.Begin(locking).ok());
    REQUIRE(s.tree.GetForUpdate(locking, missing, &value).ok());
    CHECK(value == std::nullopt);
    REQUIRE(s.tree.Commit(locking).ok());
    s.Append(600);
    CHECK(absl::IsAborted(s.tree.Put(old, missing, "decided without the lock")));
    REQUIRE(s.tree.Rollback(old).ok());
  });
}

TEST_CASE("ghosts of records that were inserted into a gap go although the snapshot stays") {
  InSimulation([](Runtime& runtime) {
    Store s(runtime);
    Txn reader;
    s.BeginEarly(reader);
    s.Append(1000);
    for (int i = 500; i < 1000; ++i) s.Delete(Store::KeyOf(i));
    s.Append(600);
    s.tree.store.CollectAll();
    CHECK(s.tree.CountGhosts() < 100);
    s.CheckSeesNoAppend(reader);
    REQUIRE(s.tree.Commit(reader).ok());
  });
}

}  // namespace
}  // namespace latchkey::empty_gaps_test
