// Beyond the bound: old versions and undo on the spill device.
#include "engine/txn/version_spill.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "engine/txn/version_table.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/device/memory_device.h"

namespace latchkey::version_spill_test {
namespace {

using Value = std::optional<std::string>;
constexpr uint64_t kBound = 128 << 10;
// Bytes that the bound does not count exactly: records that have not settled yet.
constexpr uint64_t kSlack = 64 << 10;

struct Spilling {
  ToyTree tree{ThreadRuntime()};
  BlockDevice* device = nullptr;

  explicit Spilling(uint64_t most_bytes = 256 << 20) {
    auto made = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
    REQUIRE(made.ok());
    device = made->get();
    tree.store.SetSpill(*std::move(made), most_bytes);
    tree.store.SetBound(kBound);
  }
  static std::string Key(uint64_t i) {
    return fmt::format("{} key {:06}", static_cast<char>('a' + i % 26), i);
  }
  static std::string ValueOf(uint64_t i, uint64_t round) {
    return fmt::format("{} in {}", i, round);
  }
  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void DeleteNow(const std::string& key) { tree.DeleteNow(key); }
  Value GetNow(const std::string& key) {
    Txn txn;
    REQUIRE(tree.Begin(txn).ok());
    Value value;
    REQUIRE(tree.Read(txn, key, &value).ok());
    REQUIRE(tree.Commit(txn).ok());
    return value;
  }
  // Nothing is left of what is over.
  void CheckClean() {
    tree.store.CollectAll();
    const VersionStoreStats stats = tree.store.stats();
    CHECK(stats.versions == 0);
    CHECK(stats.version_bytes == 0);
    CHECK(stats.spilled_bytes == 0);
    CHECK(device->geometry().size_bytes <= SpillFile::kGrowthBytes);
    CHECK(tree.CountGhosts() == 0);
    CHECK(tree.CountChains() == tree.CountOverflowRecords());
  }
};

// The device writes all that it grows by. The file shrank to nothing after each spill: beside 32 users of
// TPC-C-lite it wrote 16 MiB of zeros for each megabyte of versions, more than all pages together.
TEST_CASE("the spill file keeps the space of its first growth") {
  auto made = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
  REQUIRE(made.ok());
  const BlockDevice& device = **made;
  SpillFile file(ThreadRuntime(), *std::move(made), 64 << 20);
  constexpr uint64_t kKept = SpillFile::kGrowthBytes / SpillFile::kExtentBytes;
  const auto take = [&](uint64_t extents) {
    std::vector<uint64_t> taken;
    for (uint64_t i = 0; i < extents; ++i) {
      const absl::StatusOr<uint64_t> extent = file.Take();
      REQUIRE(extent.ok());
      taken.push_back(*extent);
    }
    return taken;
  };
  const std::vector<uint64_t> large = take(kKept + 1);
  CHECK(device.geometry().size_bytes == 2 * SpillFile::kGrowthBytes);
  file.Shrink();
  CHECK(device.geometry().size_bytes == 2 * SpillFile::kGrowthBytes);  // in use
  file.GiveBack(large);
  file.Shrink();
  CHECK(device.geometry().size_bytes == SpillFile::kGrowthBytes);
  std::vector<uint64_t> all = take(kKept);
  CHECK(device.geometry().size_bytes == SpillFile::kGrowthBytes);
  std::ranges::sort(all);
  for (uint64_t i = 0; i < kKept; ++i) CHECK(all[i] == i * SpillFile::kExtentBytes);
  file.GiveBack(all);
  file.Shrink();
  CHECK(device.geometry().size_bytes == SpillFile::kGrowthBytes);
}

TEST_CASE("a spill file that has grown large shrinks when the last version is gone") {
  const bool is_undo = GENERATE(true, false);
  CAPTURE(is_undo);
  Spilling s;
  constexpr uint64_t kKeys = 20'000;
  const auto key = [&s](uint64_t i) { return s.Key(i) + std::string(1000, 'k'); };
  for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(key(i), "old");
  Txn txn;
  REQUIRE(s.tree.Begin(txn).ok());
  REQUIRE(s.tree.Get(txn, key(0)) == "old");
  for (uint64_t i = 0; i < kKeys; ++i) {
    if (is_undo) REQUIRE(s.tree.Put(txn, key(i), "new").ok());
    if (!is_undo) s.PutNow(key(i), "new");
  }
  CHECK(s.device->geometry().size_bytes > SpillFile::kGrowthBytes);
  REQUIRE(s.tree.Rollback(txn).ok());
  s.CheckClean();
  CHECK(s.GetNow(key(0)) == (is_undo ? "old" : "new"));
}

TEST_CASE("a snapshot outlives the bound: its versions go to the spill device and come back") {
  Spilling s;
  constexpr uint64_t kKeys = 4000;
  for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(s.Key(i), s.ValueOf(i, 0));
  Txn reader;
  REQUIRE(s.tree.Begin(reader).ok());
  REQUIRE(s.tree.Get(reader, s.Key(0)) == s.ValueOf(0, 0));
  uint64_t most = 0;
  for (uint64_t round = 1; round <= 6; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      s.PutNow(s.Key(i), s.ValueOf(i, round));
      s.PutNow(s.Key(kKeys + round * kKeys + i), "new");
      most = std::max(most, s.tree.store.stats().version_bytes);
    }
    for (uint64_t i = 0; i < kKeys; i += 7) {
      REQUIRE(s.tree.Get(reader, s.Key(i)) == s.ValueOf(i, 0));
      REQUIRE(s.tree.Get(reader, s.Key(kKeys + round * kKeys + i)) == std::nullopt);
      REQUIRE(s.GetNow(s.Key(i)) == s.ValueOf(i, round));
    }
  }
  CHECK(s.tree.store.stats().snapshots_expired == 0);
  CHECK(s.tree.store.stats().spilled_bytes > 0);
  CHECK(most <= kBound + kSlack);
  REQUIRE(s.tree.Commit(reader).ok());
  s.CheckClean();
}

TEST_CASE("ghosts and chains of spilled versions go when the snapshot does") {
  Spilling s;
  constexpr uint64_t kKeys = 3000;
  const std::string chain(ToyTree::kLongValue, 'c');
  for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(s.Key(i), chain + s.Key(i));
  Txn reader;
  REQUIRE(s.tree.Begin(reader).ok());
  REQUIRE(s.tree.Get(reader, s.Key(0)) == chain + s.Key(0));
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      s.DeleteNow(s.Key(i));
      s.PutNow(s.Key(i), chain + "again");
      if (i % 3 != 0) s.DeleteNow(s.Key(i));
      if (i % 3 != 0) s.PutNow(s.Key(i), "and again");
    }
  }
  for (uint64_t i = 0; i < kKeys; ++i) s.DeleteNow(s.Key(i));
  CHECK(s.tree.store.stats().spilled_bytes > 0);
  for (uint64_t i = 0; i < kKeys; ++i) {
    REQUIRE(s.tree.Get(reader, s.Key(i)) == chain + s.Key(i));
  }
  REQUIRE(s.tree.Commit(reader).ok());
  s.CheckClean();
  CHECK(s.tree.CountRecords() == 0);
}

// Memory does not know that the key was inserted after the snapshot once that version is spilled. So
// the ghosts of a queue stayed, and each scan of its beginning walked over all of them.
TEST_CASE("a queue whose inserts are spilled before its deletes keeps few ghosts") {
  Spilling s;
  const auto key = [](uint64_t i) { return fmt::format("queue {:06}", i); };
  constexpr uint64_t kLength = 3000, kKeys = 40'000;
  for (uint64_t i = 0; i < kLength; ++i) s.PutNow(key(i), "before");
  Txn reader;
  REQUIRE(s.tree.Begin(reader).ok());
  REQUIRE(s.tree.Get(reader, key(0)) == "before");
  size_t most_ghosts = 0;
  for (uint64_t i = kLength; i < kKeys; ++i) {
    s.PutNow(key(i), "after");
    s.DeleteNow(key(i - kLength));
    if (i % 1000 == 0) most_ghosts = std::max(most_ghosts, s.tree.CountGhosts());
  }
  CHECK(s.tree.store.stats().spilled_bytes > 0);
  CHECK(most_ghosts <= 2 * kLength);  // of 37,000 deleted keys
  for (uint64_t i = 0; i < kKeys; i += 37) {
    REQUIRE(s.tree.Get(reader, key(i)) == (i < kLength ? Value("before") : std::nullopt));
  }
  CHECK(absl::IsAborted(s.tree.Put(reader, key(kKeys / 2), "conflict")));
  REQUIRE(s.tree.Rollback(reader).ok());
  for (uint64_t i = kKeys - kLength; i < kKeys; ++i) s.DeleteNow(key(i));
  s.CheckClean();
}

TEST_CASE("when the spill device is full the oldest snapshot is too old, and writing goes on") {
  Spilling s(/*most_bytes=*/2 << 20);
  s.PutNow(s.Key(0), "first");
  Txn oldest;
  REQUIRE(s.tree.Begin(oldest).ok());
  REQUIRE(s.tree.Get(oldest, s.Key(0)) == "first");
  Value value;
  uint64_t i = 1;
  while (s.tree.store.stats().snapshots_expired == 0) {
    s.PutNow(s.Key(i), std::string(20, 'v'));
    REQUIRE(++i < 200'000);
  }
  CHECK(s.tree.store.stats().spilled_bytes <= 2 << 20);
  CHECK(absl::IsAborted(s.tree.Read(oldest, s.Key(1), &value)));
  REQUIRE(s.tree.Rollback(oldest).ok());
  for (uint64_t k = 1; k < i; ++k) REQUIRE(s.GetNow(s.Key(k)) == std::string(20, 'v'));
  s.CheckClean();
}

TEST_CASE("a writer whose snapshot is old meets conflicts with spilled versions") {
  Spilling s;
  s.PutNow(s.Key(0), "first");
  Txn writer, blind;
  REQUIRE(s.tree.Begin(writer).ok());
  REQUIRE(s.tree.Begin(blind).ok());
  REQUIRE(s.tree.Get(writer, s.Key(0)) == "first");
  REQUIRE(s.tree.Put(blind, "zzz", "blind").ok());
  for (uint64_t i = 0; i < 10'000; ++i) s.PutNow(s.Key(i), "second");
  REQUIRE(s.tree.store.stats().spilled_bytes > 0);
  for (uint64_t i = 0; i < 10'000; i += 501) {
    CHECK(s.tree.Put(blind, s.Key(i), "third").ok());
  }
  CHECK(absl::IsAborted(s.tree.Put(writer, s.Key(600), "third")));
  REQUIRE(s.tree.Rollback(writer).ok());
  REQUIRE(s.tree.Commit(blind).ok());
  CHECK(s.GetNow(s.Key(501)) == "third");
  s.CheckClean();
}

TEST_CASE("a transaction whose undo exceeds the bound many times commits, or rolls back whole") {
  const bool commit = GENERATE(true, false);
  CAPTURE(commit);
  Spilling s;
  constexpr uint64_t kKeys = 20'000;
  const std::string chain(ToyTree::kLongValue, 'c');
  const auto first = [&](uint64_t i) -> Value {
    if (i % 3 == 0) return std::nullopt;
    return i % 3 == 1 ? "first" : chain + std::to_string(i);
  };
  const auto second = [&](uint64_t i) -> Value {
    if (i % 5 == 0 && i % 3 != 0) return std::nullopt;
    return i % 5 == 1 ? chain + "second" : "second";
  };
  for (uint64_t i = 0; i < kKeys; ++i) {
    if (first(i)) s.PutNow(s.Key(i), *first(i));
  }
  Txn reader, large;
  REQUIRE(s.tree.Begin(reader).ok());
  REQUIRE(s.tree.Get(reader, s.Key(0)) == first(0));
  REQUIRE(s.tree.Begin(large).ok());
  for (uint64_t i = 0; i < kKeys; ++i) REQUIRE(s.tree.Put(large, s.Key(i), chain + "once").ok());
  uint64_t most = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const Value wanted = second(i);
    const absl::Status written =
        wanted ? s.tree.Put(large, s.Key(i), *wanted) : s.tree.Delete(large, s.Key(i));
    REQUIRE(written.ok());
    most = std::max(most, s.tree.store.stats().version_bytes);
  }
  CHECK(most <= kBound + kSlack);
  CHECK(s.tree.store.stats().spilled_bytes > 0);
  for (uint64_t i = 0; i < kKeys; i += 11) {
    REQUIRE(s.tree.Get(large, s.Key(i)) == second(i));
    REQUIRE(s.tree.Get(reader, s.Key(i)) == first(i));
    REQUIRE(s.GetNow(s.Key(i)) == first(i));
  }
  REQUIRE((commit ? s.tree.Commit(large) : s.tree.Rollback(large)).ok());
  for (uint64_t i = 0; i < kKeys; i += 11) {
    REQUIRE(s.tree.Get(reader, s.Key(i)) == first(i));
    REQUIRE(s.GetNow(s.Key(i)) == (commit ? second(i) : first(i)));
  }
  for (uint64_t i = 0; i < kKeys; i += 1009) s.PutNow(s.Key(i), "third");
  REQUIRE(s.tree.Commit(reader).ok());
  s.CheckClean();
  for (uint64_t i = 1; i < kKeys; ++i) {
    if (i % 1009 != 0) REQUIRE(s.GetNow(s.Key(i)) == (commit ? second(i) : first(i)));
  }
}

TEST_CASE("a key that a large transaction has written stays locked when its undo is spilled") {
  Spilling s;
  Txn large;
  REQUIRE(s.tree.Begin(large).ok());
  for (uint64_t i = 0; i < 10'000; ++i) REQUIRE(s.tree.Put(large, s.Key(i), "large").ok());
  REQUIRE(s.tree.store.stats().spilled_bytes > 0);
  std::atomic<bool> done{false};
  auto other = ThreadRuntime().Spawn("other", [&] {
    s.PutNow(s.Key(5), "other");
    done = true;
  });
  for (int i = 0; i < 100; ++i) {
    CHECK(!done);
    REQUIRE(s.tree.Put(large, s.Key(10'000 + static_cast<uint64_t>(i)), "large").ok());
  }
  REQUIRE(s.tree.Commit(large).ok());
  other->Join();
  CHECK(s.GetNow(s.Key(5)) == "other");
  CHECK(s.GetNow(s.Key(6)) == "large");
  s.CheckClean();
}

// Readers took the page's value: they met the commit that they see in the table, and looked no
// further, although the large transaction's newer change of the key was spilled.
TEST_CASE("a snapshot sees no change whose undo is spilled while an older version is in memory") {
  const bool commit = GENERATE(false, true);
  Spilling s;
  s.PutNow(s.Key(5), "first");
  Txn oldest, reader, large;
  REQUIRE(s.tree.Begin(oldest).ok());
  REQUIRE(s.tree.Get(oldest, s.Key(5)) == "first");
  s.PutNow(s.Key(5), "second");  // its version stays in the table for the oldest snapshot
  REQUIRE(s.tree.Begin(reader).ok());
  REQUIRE(s.tree.Get(reader, s.Key(5)) == "second");
  REQUIRE(s.tree.Begin(large).ok());
  for (uint64_t i = 0; i < 10'000; ++i) REQUIRE(s.tree.Put(large, s.Key(i), "large").ok());
  REQUIRE(s.tree.store.stats().spilled_bytes > 0);
  CHECK(s.tree.Get(reader, s.Key(5)) == "second");
  CHECK(s.tree.Get(oldest, s.Key(5)) == "first");
  CHECK(s.tree.Get(large, s.Key(5)) == "large");
  REQUIRE((commit ? s.tree.Commit(large) : s.tree.Rollback(large)).ok());
  if (commit) s.PutNow(s.Key(5), "third");  // now the change lies between two in the table
  CHECK(s.tree.Get(reader, s.Key(5)) == "second");
  CHECK(s.tree.Get(oldest, s.Key(5)) == "first");
  REQUIRE(s.tree.Commit(reader).ok());
  REQUIRE(s.tree.Commit(oldest).ok());
  s.CheckClean();
}

TEST_CASE("a serializable transaction is refused beside a large one whose keys are spilled") {
  Spilling s;
  s.PutNow("a", "1");
  Txn careful, large;
  REQUIRE(s.tree.Begin(careful).ok());
  careful.TrackReads();
  REQUIRE(s.tree.Get(careful, "a") == "1");
  REQUIRE(s.tree.Put(careful, "b", "1").ok());
  REQUIRE(s.tree.Begin(large).ok());
  REQUIRE(s.tree.Put(large, "a", "2").ok());
  for (uint64_t i = 0; i < 10'000; ++i) REQUIRE(s.tree.Put(large, s.Key(i), "large").ok());
  REQUIRE(s.tree.Commit(large).ok());
  CHECK(absl::IsAborted(s.tree.Commit(careful)));
  REQUIRE(s.tree.Rollback(careful).ok());
  s.CheckClean();
}

TEST_CASE("snapshots of every age see their own state while versions spill and merge") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 2 : 4));
  CAPTURE(seed);
  Spilling s;
  Rng rng(seed);
  constexpr uint64_t kKeys = 1500;
  std::vector<Value> now(kKeys);
  struct Reader {
    Txn txn;
    std::vector<Value> saw;
  };
  std::vector<std::unique_ptr<Reader>> readers;
  for (int step = 0; step < (kSanitizer ? 20'000 : 60'000); ++step) {
    const uint64_t k = rng.Below(kKeys);
    if (rng.Below(4) == 0 && now[k]) {
      s.DeleteNow(s.Key(k));
      now[k] = std::nullopt;
    } else {
      now[k] = std::to_string(step) + (rng.Below(4) == 0 ? std::string(30, '+') : "");
      s.PutNow(s.Key(k), *now[k]);
    }
    if (rng.Below(2000) == 0 && readers.size() < 12) {
      readers.push_back(std::make_unique<Reader>());
      REQUIRE(s.tree.Begin(readers.back()->txn).ok());
      readers.back()->saw = now;
      REQUIRE(s.tree.Get(readers.back()->txn, s.Key(0)) == now[0]);
    }
    if (!readers.empty() && rng.Below(4000) == 0) {
      const size_t gone = rng.Below(readers.size());
      for (uint64_t i = 0; i < kKeys; ++i) {
        REQUIRE(s.tree.Get(readers[gone]->txn, s.Key(i)) == readers[gone]->saw[i]);
      }
      REQUIRE(s.tree.Commit(readers[gone]->txn).ok());
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  CHECK(s.tree.store.stats().spilled_bytes > 0);
  CHECK(s.tree.store.stats().snapshots_expired == 0);
  for (auto& reader : readers) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      REQUIRE(s.tree.Get(reader->txn, s.Key(i)) == reader->saw[i]);
    }
    REQUIRE(s.tree.Commit(reader->txn).ok());
  }
  s.CheckClean();
}

/// Spills one version at a time, each in a run of its own.
struct Runs {
  std::unique_ptr<VersionSpill> spill;
  LiveSnapshots live{.read_ts = {0}, .as_of = 1000};
  Chores chores;
  CommitTs ts = 0;

  Runs() {
    auto device = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
    REQUIRE(device.ok());
    spill = std::make_unique<VersionSpill>(ThreadRuntime(), *std::move(device), 256 << 20);
  }
  static std::string KeyOf(CommitTs ts) { return fmt::format("key {:03}", ts); }
  void Add(CommitTs of) {
    const std::string key = KeyOf(of);
    const std::vector<SettlingVersion> one{{.tree = TreeId{1}, .ts = of, .key = key, .old = key}};
    REQUIRE(spill->AddSettled(one, live, &chores).ok());
  }
  void AddAndMerge() {
    Add(++ts);
    REQUIRE(spill->Merge(live, &chores).ok());
  }
  /// The value that the commit `of` has replaced; "" = a snapshot at `read_ts` finds none.
  std::string Read(CommitTs read_ts, CommitTs of) {
    const std::string key = KeyOf(of);
    const uint64_t hash = VersionTable::HashOf(TreeId{1}, key);
    SpilledBlocks blocks;
    VersionRun::Oldest oldest;
    std::string old;
    REQUIRE(spill->Find(read_ts, nullptr, hash, TreeId{1}, key, &blocks, &oldest, &old).ok());
    return old;
  }
  /// The value of every key for the snapshot 0.
  void ReadAll() {
    for (CommitTs of = 1; of <= ts; ++of) REQUIRE(Read(0, of) == KeyOf(of));
  }
  uint64_t extents() const { return spill->disk_bytes() / SpillFile::kExtentBytes; }
};

// The search ended at the first run without a newer version, as if runs held commits in their order.
// Each actor's commits settle in order; an actor that commits seldom settles old ones late.
TEST_CASE("a reader finds its version behind a later run that has only older commits") {
  Runs runs;
  runs.Add(20);
  runs.Add(10);
  CHECK(runs.Read(/*read_ts=*/15, /*of=*/20) == Runs::KeyOf(20));
  CHECK(runs.Read(/*read_ts=*/15, /*of=*/10).empty());
  CHECK(runs.Read(/*read_ts=*/5, /*of=*/10) == Runs::KeyOf(10));
}

TEST_CASE("keys rewritten beside a snapshot are spilled once, and memory is given back after it") {
  Spilling s;
  constexpr uint64_t kKeys = 1'000, kRounds = 20;
  for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(Spilling::Key(i), Spilling::ValueOf(i, 0));
  Txn snapshot;
  REQUIRE(s.tree.Begin(snapshot).ok());
  Value value;
  REQUIRE(s.tree.Read(snapshot, Spilling::Key(0), &value).ok());
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(Spilling::Key(i), Spilling::ValueOf(i, round));
  }
  const VersionStoreStats stats = s.tree.store.stats();
  CHECK(stats.spilled_bytes > 0);
  CHECK(stats.versions < 3 * kKeys);
  for (uint64_t i = 0; i < kKeys; ++i) {
    REQUIRE(s.tree.Read(snapshot, Spilling::Key(i), &value).ok());
    REQUIRE(value == Spilling::ValueOf(i, 0));
  }
  REQUIRE(s.tree.Commit(snapshot).ok());
  s.tree.store.CollectAll();
  CHECK(s.tree.store.stats().version_bytes == 0);
}

TEST_CASE("spilled runs that nobody reads wait until there are many") {
  Runs runs;
  while (runs.ts < 63) runs.AddAndMerge();
  CHECK(runs.extents() == 63);
  runs.AddAndMerge();
  CHECK(runs.extents() == 64 - 8 + 1);
  runs.ReadAll();
}

TEST_CASE("spilled runs that readers ask are merged, eight at a time") {
  Runs runs;
  while (runs.ts < 20) runs.AddAndMerge();
  CHECK(runs.extents() == 20);
  for (int i = 0; i < 20; ++i) runs.ReadAll();
  runs.AddAndMerge();
  CHECK(runs.extents() == 21 - 2 * (8 - 1));  // a call merges twice at most
  runs.ReadAll();
}

}  // namespace
}  // namespace latchkey::version_spill_test
