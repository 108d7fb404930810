// Old versions behind long snapshots: which are kept, and how little memory they take.
#include "engine/txn/settled_versions.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/base/rng.h"

namespace latchkey::settled_versions_test {
namespace {

using Value = std::optional<std::string>;
constexpr TreeId kTree{7};

LiveSnapshots Live(std::vector<CommitTs> read_ts, CommitTs as_of) {
  LiveSnapshots live;
  live.oldest = read_ts.empty() ? as_of : read_ts.front();
  live.read_ts = std::move(read_ts);
  live.as_of = live.validated_from = as_of;
  return live;
}

SettlingVersion Version(std::string_view key, CommitTs ts, std::string_view old) {
  return {.tree = kTree,
          .hash = VersionTable::HashOf(kTree, key),
          .ts = ts,
          .key = key,
          .state = RecordState::kValue,
          .old = old};
}

std::string At(SettledVersions& versions, std::string_view key, CommitTs read_ts) {
  std::string old = "the page's";
  CommitTs ts = 0;
  versions.CopyUnseen(VersionTable::HashOf(kTree, key), kTree, key, read_ts, &old, &ts);
  return old;
}

// As if all versions were written to the device now.
void Spill(SettledVersions& versions) {
  versions.Freeze();
  versions.DropFrozen();
}

// One key with a version for a snapshot at 5, which was spilled.
struct OneSpilledKey {
  OneSpilledKey() {
    known.SetMostBytes(1 << 20);
    known.MakeRoom();
    CHECK(versions.Add(Version("k", 10, "at 5"), live, &chores));
    Spill(versions);
  }

  KnownWrites known{ThreadRuntime()};
  SettledVersions versions{ThreadRuntime(), known};
  const LiveSnapshots live = Live({5}, 100);
  Chores chores;
};

void PutNow(ToyTree& tree, const std::string& key, const std::string& value) {
  tree.PutNow(key, value);
}

void DeleteNow(ToyTree& tree, const std::string& key) { tree.DeleteNow(key); }

TEST_CASE("a version settles only if some snapshot reads between its commit and the one before") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5, 20}, 100);
  CHECK(versions.Add(Version("k", 10, "at 5"), live, &chores));
  CHECK(!versions.Add(Version("k", 12, "at 11"), live, &chores));
  CHECK(!versions.Add(Version("k", 20, "at 19"), live, &chores));  // 20 sees the commit at 20
  CHECK(versions.Add(Version("k", 30, "at 20"), live, &chores));
  CHECK(!versions.Add(Version("k", 40, "at 35"), live, &chores));
  CHECK(versions.count() == 2);
  CHECK(At(versions, "k", 5) == "at 5");
  CHECK(At(versions, "k", 20) == "at 20");
  CHECK(At(versions, "k", 40) == "the page's");
  CHECK(versions.NewestOf(VersionTable::HashOf(kTree, "k"), kTree, "k") == 30);
  CHECK(versions.NewestOf(VersionTable::HashOf(kTree, "x"), kTree, "x") == 0);
  CHECK(chores.empty());
}

TEST_CASE("a lock between two writes does not shorten what the second has replaced") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5}, 100);
  SettlingVersion lock = Version("k", 10, "");
  lock.lock_only = true;
  CHECK(versions.Add(lock, live, &chores));
  CHECK(versions.Add(Version("k", 20, "at 5"), live, &chores));
  CHECK(At(versions, "k", 5) == "at 5");
}

TEST_CASE("a sweep drops what an ended snapshot wanted, between two that go on") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots three = Live({5, 15, 25}, 100);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key {}", i);
    for (const CommitTs ts : {10, 20, 30}) {
      REQUIRE(versions.Add(Version(key, ts, fmt::format("{} before {}", i, ts)), three, &chores));
    }
  }
  const LiveSnapshots two = Live({5, 25}, 100);
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) versions.Sweep(s, two, &chores);
  CHECK(versions.count() == 2000);
  for (int i = 0; i < 1000; ++i) {
    const std::string key = fmt::format("key {}", i);
    REQUIRE(At(versions, key, 5) == fmt::format("{} before 10", i));
    REQUIRE(At(versions, key, 25) == fmt::format("{} before 30", i));
  }
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) versions.Sweep(s, Live({}, 100), &chores);
  CHECK(versions.empty());
  CHECK(versions.bytes() == 0);
}

TEST_CASE("a spilled key needs another version only if a snapshot has read since its last write") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  known.SetMostBytes(1 << 20);
  known.MakeRoom();
  Chores chores;
  const LiveSnapshots live = Live({5, 25}, 100);
  SettlingVersion lock = Version("locked", 10, "");
  lock.lock_only = true;
  CHECK(versions.Add(lock, live, &chores));
  CHECK(versions.Add(Version("k", 10, "at 5"), live, &chores));
  CHECK(versions.Add(Version("l", 10, "at 5"), live, &chores));
  versions.Freeze();
  CHECK_FALSE(versions.Add(Version("k", 12, "at 11"), live, &chores));  // while it is written
  versions.DropFrozen();
  CHECK(versions.empty());
  CHECK_FALSE(versions.Add(Version("k", 14, "at 13"), live, &chores));
  CHECK(versions.Add(Version("k", 30, "at 25"), live, &chores));
  CHECK_FALSE(versions.Add(Version("k", 40, "at 35"), live, &chores));
  CHECK(At(versions, "k", 25) == "at 25");
  CHECK(chores.empty());

  SettlingVersion deleted = Version("l", 20, "at 15");
  deleted.leaves_ghost = true;  // memory keeps the duty for the ghost
  CHECK(versions.Add(deleted, live, &chores));
  CHECK(versions.Add(Version("locked", 20, "at 5"), live, &chores));  // a lock is no write

  Spill(versions);
  known.Clear();
  CHECK(versions.bytes() == 0);
  CHECK(versions.Add(Version("k", 50, "at 45"), live, &chores));
}

TEST_CASE(
    "while versions are written elsewhere, a snapshot that reads between keeps the next one") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5, 25}, 100);
  CHECK(versions.Add(Version("k", 10, "at 5"), live, &chores));
  versions.Freeze();
  CHECK(versions.Add(Version("k", 30, "at 25"), live, &chores));
  CHECK(At(versions, "k", 25) == "at 25");
  CHECK(At(versions, "k", 5) == "at 5");
  // It could not be written: all are as before.
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) {
    versions.Sweep(s, live, &chores, /*thaw=*/true);
  }
  CHECK(versions.count() == 2);
  CHECK(At(versions, "k", 25) == "at 25");
  CHECK(At(versions, "k", 5) == "at 5");
}

TEST_CASE("a sweep drops what only an ended snapshot wanted, if an older version was spilled") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  known.SetMostBytes(1 << 20);
  known.MakeRoom();
  Chores chores;
  for (int i = 0; i < 1000; ++i) {
    CHECK(versions.Add(Version(fmt::format("key {}", i), 10, "at 5"), Live({5}, 100), &chores));
  }
  Spill(versions);
  for (int i = 0; i < 1000; ++i) {
    CHECK(
        versions.Add(Version(fmt::format("key {}", i), 30, "at 25"), Live({5, 25}, 100), &chores));
  }
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) {
    versions.Sweep(s, Live({5}, 100), &chores);
  }
  CHECK(versions.empty());
}

// The version of the insert has to stay in memory, where the delete finds it.
TEST_CASE("a spilled key that comes and goes again leaves no ghost behind") {
  OneSpilledKey f;
  SettlingVersion inserted = Version("k", 20, "");
  inserted.state = RecordState::kAbsent;
  CHECK(f.versions.Add(inserted, f.live, &f.chores));
  SettlingVersion deleted = Version("k", 30, "at 25");
  deleted.leaves_ghost = true;
  CHECK_FALSE(f.versions.Add(deleted, f.live, &f.chores));
  REQUIRE(f.chores.ghosts.size() == 1);
  CHECK(f.chores.ghosts[0].bytes == "k");
}

TEST_CASE("a spilled key of which nothing is remembered needs its next version, too") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  CHECK(versions.Add(Version("k", 10, "at 5"), Live({5}, 100), &chores));
  Spill(versions);
  CHECK(versions.bytes() == 0);
  CHECK(versions.Add(Version("k", 20, "at 15"), Live({5}, 100), &chores));
}

TEST_CASE("a version in a gap is not noted as a known write, a dropped one outside is") {
  OneSpilledKey f;
  SettlingVersion in_gap = Version("g", 20, "at 15");
  in_gap.empty_below = 6;
  CHECK_FALSE(f.versions.Add(in_gap, f.live, &f.chores));
  CHECK_FALSE(f.known.HasSince(in_gap.hash, kTree, "g", 6, 30));
  CHECK_FALSE(f.versions.Add(Version("k", 20, "at 15"), f.live, &f.chores));
  CHECK(f.known.HasSince(VersionTable::HashOf(kTree, "k"), kTree, "k", 20, 30));
}

TEST_CASE("the chain of a version that a known write makes unneeded is left as a chore") {
  OneSpilledKey f;
  SettlingVersion chain = Version("k", 20, "reference");
  chain.state = RecordState::kOverflow;
  CHECK_FALSE(f.versions.Add(chain, f.live, &f.chores));
  REQUIRE(f.chores.chains.size() == 1);
  CHECK(f.chores.chains[0].bytes == "reference");
  CHECK(f.chores.ghosts.empty());
}

TEST_CASE("a shard is worth a sweep once a newer snapshot was listed, or the oldest has ended") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  CommitTs ts = 10;
  const auto add = [&](const LiveSnapshots& live) {
    for (int i = 0; i < 20'000; ++i, ++ts) {
      versions.Add(Version(fmt::format("key {}", ts), ts, "old"), live, &chores);
    }
  };
  const auto worth = [&](CommitTs oldest) {
    uint32_t shards = 0;
    for (uint32_t s = 0; s < SettledVersions::kShards; ++s) {
      shards += versions.IsWorthSweeping(s, oldest);
    }
    return shards;
  };
  add(Live({5}, 1'000'000));
  CHECK(worth(5) == 0);  // every version was kept for the snapshot at 5
  CHECK(worth(ts) == SettledVersions::kShards);
  add(Live({5, 20'000}, 1'000'000));
  CHECK(worth(5) == SettledVersions::kShards);  // some may have been kept for the other one alone
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) {
    versions.Sweep(s, Live({5}, 1'000'000), &chores);
  }
  CHECK(worth(5) == 0);
}

TEST_CASE("each of many versions is found while the table of its shard grows") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5}, 1'000'000);
  const auto key = [](int i) { return fmt::format("key {}", i); };
  int most = 0;
  for (const int next : {1, 100, 3000, 50'000}) {
    for (; most < next; ++most) versions.Add(Version(key(most), 10, key(most)), live, &chores);
    for (int i = 0; i < most; ++i) REQUIRE(At(versions, key(i), 5) == key(i));
    REQUIRE(At(versions, key(most), 5) == "the page's");
  }
  CHECK(versions.count() == 50'000);
}

TEST_CASE("the ghost and the chain of a version that goes are left as chores, once") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5}, 100);
  REQUIRE(versions.Add(Version("k", 10, "v"), live, &chores));
  SettlingVersion deletion = Version("k", 20, "chain");
  deletion.state = RecordState::kOverflow;
  deletion.leaves_ghost = true;
  CHECK(!versions.Add(deletion, live, &chores));
  REQUIRE(chores.chains.size() == 1);
  CHECK(chores.chains[0].bytes == "chain");
  CHECK(chores.ghosts.empty());  // the snapshot still finds the key by its ghost
  for (uint32_t s = 0; s < SettledVersions::kShards; ++s) versions.Sweep(s, Live({}, 100), &chores);
  REQUIRE(chores.ghosts.size() == 1);
  CHECK(chores.ghosts[0].bytes == "k");
  CHECK(chores.chains.size() == 1);
}

TEST_CASE("a settled version of a value of 100 bytes takes at most 200 bytes") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5}, 100);
  const std::string value(100, 'v');
  uint64_t most = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    versions.Add(Version(fmt::format("key {:012}", i), 10, value), live, &chores);
    if (i > 20'000) most = std::max(most, versions.bytes() / versions.count());
  }
  CHECK(most <= 200);
}

TEST_CASE("beside one long snapshot the versions of rewritten keys stay as many as the keys") {
  ToyTree tree(ThreadRuntime());
  constexpr uint64_t kKeys = 50;
  const auto key = [](uint64_t i) { return fmt::format("{} key", static_cast<char>('a' + i)); };
  for (uint64_t i = 0; i < kKeys; ++i) PutNow(tree, key(i), "first");
  Txn reader;
  REQUIRE(tree.Begin(reader).ok());
  REQUIRE(tree.Get(reader, key(0)) == "first");
  uint64_t most_bytes = 0, most_versions = 0;
  for (uint64_t round = 0; round < 400; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) PutNow(tree, key(i), fmt::format("value {}", round));
    if (round < 5) continue;
    most_bytes = std::max(most_bytes, tree.store.stats().version_bytes);
    most_versions = std::max(most_versions, tree.store.stats().versions);
  }
  CHECK(most_versions <= 2 * kKeys);
  CHECK(most_bytes <= 128 << 10);  // of 20,000 commits
  for (uint64_t i = 0; i < kKeys; ++i) CHECK(tree.Get(reader, key(i)) == "first");
  REQUIRE(tree.Commit(reader).ok());
  tree.store.CollectAll();
  CHECK(tree.store.stats().versions == 0);
  CHECK(tree.store.stats().version_bytes == 0);
}

TEST_CASE("keys that come and go beside a long snapshot leave neither ghosts nor chains behind") {
  ToyTree tree(ThreadRuntime());
  const std::string chain(ToyTree::kLongValue, 'x');
  PutNow(tree, "a", chain);
  PutNow(tree, "b", "b");
  Txn reader;
  REQUIRE(tree.Begin(reader).ok());
  REQUIRE(tree.Get(reader, "b") == "b");
  for (int round = 0; round < 300; ++round) {
    PutNow(tree, "a", chain + std::to_string(round));
    DeleteNow(tree, "a");
    PutNow(tree, "c", chain);
    DeleteNow(tree, "c");
    if (round % 50 == 0) {
      CHECK(tree.Get(reader, "a") == chain);
      CHECK(tree.Get(reader, "c") == std::nullopt);
    }
  }
  CHECK(tree.CountChains() <= 40);
  CHECK(tree.Get(reader, "a") == chain);
  REQUIRE(tree.Commit(reader).ok());
  tree.store.CollectAll();
  CHECK(tree.CountGhosts() == 0);
  CHECK(tree.CountChains() == 0);
  CHECK(tree.store.stats().versions == 0);
}

TEST_CASE("a queue beside a long snapshot keeps no ghosts of what came and went after it") {
  ToyTree tree(ThreadRuntime());
  const auto key = [](int i) { return fmt::format("{:04}", i); };
  for (int i = 0; i < 10; ++i) PutNow(tree, key(i), "before");
  Txn reader;
  REQUIRE(tree.Begin(reader).ok());
  REQUIRE(tree.Get(reader, key(0)) == "before");
  for (int i = 10; i < 1000; ++i) {
    PutNow(tree, key(i), "after");
    DeleteNow(tree, key(i - 10));
  }
  // Ten that the snapshot sees, and what has not settled yet.
  CHECK(tree.CountGhosts() <= 10 + 20);
  for (int i = 0; i < 10; ++i) CHECK(tree.Get(reader, key(i)) == "before");
  for (int i = 10; i < 1000; ++i) REQUIRE(tree.Get(reader, key(i)) == std::nullopt);
  CHECK(absl::IsAborted(tree.Put(reader, key(500), "conflict")));  // the versions are still there
  REQUIRE(tree.Rollback(reader).ok());
  for (int i = 990; i < 1000; ++i) DeleteNow(tree, key(i));
  tree.store.CollectAll();
  CHECK(tree.CountGhosts() == 0);
  CHECK(tree.store.stats().versions == 0);
}

TEST_CASE("a key that a snapshot sees keeps its ghost, however often it comes and goes later") {
  KnownWrites known(ThreadRuntime());
  SettledVersions versions(ThreadRuntime(), known);
  Chores chores;
  const LiveSnapshots live = Live({5}, 100);
  const auto add = [&](CommitTs ts, RecordState state, bool leaves_ghost) {
    SettlingVersion version = Version("k", ts, "old");
    version.state = state;
    version.leaves_ghost = leaves_ghost;
    versions.Add(version, live, &chores);
  };
  add(10, RecordState::kValue, /*leaves_ghost=*/true);  // the snapshot at 5 sees this value
  add(20, RecordState::kGhost, false);
  add(30, RecordState::kValue, true);
  CHECK(chores.empty());
  SettledVersions others(ThreadRuntime(), known);
  SettlingVersion inserted = Version("k", 10, "");
  inserted.state = RecordState::kAbsent;
  others.Add(inserted, live, &chores);
  SettlingVersion removed = Version("k", 30, "old");
  removed.leaves_ghost = true;
  others.Add(removed, live, &chores);
  REQUIRE(chores.ghosts.size() == 1);
  CHECK(chores.ghosts[0].bytes == "k");
  CHECK(chores.ghosts[0].unneeded_until == 30);
}

TEST_CASE("a writer whose snapshot is old finds its conflicts among settled versions") {
  ToyTree tree(ThreadRuntime());
  PutNow(tree, "a", "1");
  Txn old_writer, blind_writer;
  REQUIRE(tree.Begin(old_writer).ok());
  REQUIRE(tree.Begin(blind_writer).ok());
  REQUIRE(tree.Get(old_writer, "a") == "1");
  REQUIRE(tree.Put(blind_writer, "z", "z").ok());  // has a snapshot, and has learned nothing
  for (int i = 0; i < 100; ++i) PutNow(tree, fmt::format("a{}", i), "2");
  CHECK(tree.store.stats().versions >= 100);
  CHECK(absl::IsAborted(tree.Put(old_writer, "a0", "3")));
  CHECK(tree.Put(blind_writer, "a0", "3").ok());
  REQUIRE(tree.Rollback(old_writer).ok());
  REQUIRE(tree.Commit(blind_writer).ok());
}

TEST_CASE("a serializable transaction is checked against commits that could have settled") {
  ToyTree tree(ThreadRuntime());
  PutNow(tree, "a", "1");
  Txn reader;
  REQUIRE(tree.Begin(reader).ok());
  reader.TrackReads();
  REQUIRE(tree.Get(reader, "a") == "1");
  REQUIRE(tree.Put(reader, "b", "1").ok());
  PutNow(tree, "a", "2");
  for (int i = 0; i < 100; ++i) PutNow(tree, fmt::format("c{}", i), "2");
  CHECK(absl::IsAborted(tree.Commit(reader)));
  REQUIRE(tree.Rollback(reader).ok());
}

TEST_CASE("snapshots of every age see their own state while keys are rewritten and deleted") {
  const uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  ToyTree tree(ThreadRuntime());
  Rng rng(seed);
  constexpr uint64_t kKeys = 12;
  const auto key = [](uint64_t i) { return std::string(1, static_cast<char>('a' + i)); };
  std::vector<Value> now(kKeys);
  struct Reader {
    Txn txn;
    std::vector<Value> saw;
  };
  std::vector<std::unique_ptr<Reader>> readers;
  for (int step = 0; step < 6000; ++step) {
    const uint64_t k = rng.Below(kKeys);
    if (rng.Below(3) == 0 && now[k]) {
      DeleteNow(tree, key(k));
      now[k] = std::nullopt;
    } else {
      now[k] = std::to_string(step) + (rng.Below(4) == 0 ? std::string(30, '+') : "");
      PutNow(tree, key(k), *now[k]);
    }
    if (rng.Below(40) == 0 && readers.size() < 12) {
      readers.push_back(std::make_unique<Reader>());
      REQUIRE(tree.Begin(readers.back()->txn).ok());
      readers.back()->saw = now;
      REQUIRE(tree.Get(readers.back()->txn, key(0)) == now[0]);
    }
    if (!readers.empty() && rng.Below(50) == 0) {
      const size_t gone = rng.Below(readers.size());
      for (uint64_t i = 0; i < kKeys; ++i) {
        REQUIRE(tree.Get(readers[gone]->txn, key(i)) == readers[gone]->saw[i]);
      }
      REQUIRE(tree.Commit(readers[gone]->txn).ok());
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    // At most one version per key and snapshot, and what has not settled yet.
    REQUIRE(tree.store.stats().versions <= 2 * kKeys * (readers.size() + 1) + 1000);
  }
  for (auto& reader : readers) REQUIRE(tree.Commit(reader->txn).ok());
  tree.store.CollectAll();
  CHECK(tree.store.stats().versions == 0);
  CHECK(tree.CountGhosts() == 0);
  CHECK(tree.CountChains() == tree.CountOverflowRecords());
}

}  // namespace
}  // namespace latchkey::settled_versions_test
