#include "engine/txn/version_table.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "engine/txn/record_pool.h"
#include "storage/base/rng.h"

namespace latchkey::version_table_test {
namespace {

constexpr TreeId kTree{3};

struct Fixture {
  RecordPool pool{ThreadRuntime()};
  VersionTable table{ThreadRuntime()};
  WriteRecord* record = pool.Take();

  VersionEntry* Link(const std::string& key, const std::string& old,
                     WriteRecord* writer = nullptr) {
    if (writer == nullptr) writer = record;
    auto* entry =
        new (writer->arena.Allocate(sizeof(VersionEntry) + key.size() + old.size())) VersionEntry;
    char* bytes = reinterpret_cast<char*>(entry + 1);
    std::memcpy(bytes, key.data(), key.size());
    std::memcpy(bytes + key.size(), old.data(), old.size());
    entry->key_size = static_cast<uint16_t>(key.size());
    entry->tree = kTree;
    entry->hash = VersionTable::HashOf(kTree, key);
    entry->old_bytes = bytes + key.size();
    entry->old_size = static_cast<uint32_t>(old.size());
    entry->old_state = RecordState::kValue;
    entry->writer = writer;
    table.Link(*entry);
    return entry;
  }
  VersionEntry* Newest(const std::string& key, TreeId tree = kTree) {
    return table.FindNewest(VersionTable::HashOf(tree, key), tree, key).entry;
  }
};

TEST_CASE("the newest entry of a key is found, and only of that key in that tree") {
  Fixture f;
  f.Link("a", "1");
  VersionEntry* newer = f.Link("a", "2");
  CHECK(f.Newest("a") == newer);
  CHECK(f.Newest("b") == nullptr);
  CHECK(f.Newest("a", TreeId{4}) == nullptr);
  f.table.Unlink(*newer);
  CHECK(f.Newest("a")->old() == "1");
}

TEST_CASE("entries are unlinked from anywhere in a chain, and an empty bucket says so") {
  Fixture f;
  VersionEntry* entries[3] = {f.Link("k", "0"), f.Link("k", "1"), f.Link("k", "2")};
  const uint64_t hash = VersionTable::HashOf(kTree, "k");
  f.table.Unlink(*entries[1]);
  CHECK(f.Newest("k") == entries[2]);
  f.table.Unlink(*entries[0]);
  CHECK(f.Newest("k") == entries[2]);
  CHECK(f.table.MayContain(hash));
  f.table.Unlink(*entries[2]);
  CHECK_FALSE(f.table.MayContain(hash));
}

TEST_CASE("entries settle oldest first, up to the one that is refused") {
  const bool throws = GENERATE(false, true);
  CAPTURE(throws);
  Fixture f;
  VersionEntry* entries[3] = {f.Link("k", "0"), f.Link("k", "1"), f.Link("k", "2")};
  std::vector<std::string> taken;
  uint64_t gone = 0;
  const auto take = [&](const VersionEntry& entry) {
    if (entry.old() != "1") return taken.emplace_back(entry.old()), true;
    if (throws) throw std::bad_alloc();
    return false;
  };
  if (throws) {
    CHECK_THROWS_AS(f.table.Settle(*entries[2], take, &gone), std::bad_alloc);
  } else {
    CHECK_FALSE(f.table.Settle(*entries[2], take, &gone));
  }
  CHECK(taken == std::vector<std::string>{"0"});
  CHECK(gone == 1);
  CHECK(f.table.Settle(*entries[0], take, &gone));  // it has settled already
  CHECK_FALSE(f.table.Unlink(*entries[0]));
  CHECK(f.Newest("k") == entries[2]);
  const auto take_all = [&](const VersionEntry& entry) {
    return taken.emplace_back(entry.old()), true;
  };
  CHECK(f.table.Settle(*entries[2], take_all, &gone));
  CHECK(taken == std::vector<std::string>{"0", "1", "2"});
  CHECK(gone == 3);
  CHECK(f.Newest("k") == nullptr);
}

TEST_CASE("growth keeps every entry and the order within its key") {
  Fixture f;
  constexpr int kKeys = 20'000;
  const size_t buckets = f.table.buckets();
  std::vector<VersionEntry*> newest;
  for (int round = 0; round < 2; ++round) {
    newest.clear();
    for (int i = 0; i < kKeys; ++i) {
      newest.push_back(f.Link(fmt::format("key{}", i), std::to_string(round)));
      if (i % 64 == 0) f.table.ResizeFor(static_cast<uint64_t>(round * kKeys + i));
    }
  }
  CHECK(f.table.buckets() >= buckets * 4);
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = fmt::format("key{}", i);
    REQUIRE(f.Newest(key) == newest[i]);
    f.table.Unlink(*newest[i]);
    REQUIRE(f.Newest(key)->old() == "0");
  }
}

TEST_CASE("the table shrinks again, and grows into the arrays it had") {
  Fixture f;
  constexpr size_t kKeys = 40'000, kLeft = 1000;
  const size_t buckets = f.table.buckets();
  size_t bytes = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<VersionEntry*> entries;
    for (size_t i = 0; i < kKeys; ++i) {
      entries.push_back(f.Link(fmt::format("key{}", i), "x"));
      if (i % 64 == 0) f.table.ResizeFor(i);
    }
    REQUIRE(f.table.buckets() >= buckets * 4);
    for (size_t i = kLeft; i < kKeys; ++i) f.table.Unlink(*entries[i]);
    for (int i = 0; i < 10'000; ++i) f.table.ResizeFor(kLeft / 20);
    REQUIRE(f.table.buckets() == buckets);
    for (size_t i = 0; i < kLeft; ++i) {
      REQUIRE(f.Newest(fmt::format("key{}", i)) == entries[i]);
      f.table.Unlink(*entries[i]);
    }
    if (round == 0) bytes = f.table.bytes();
  }
  CHECK(f.table.bytes() == bytes);
}

// Beside a long snapshot the entries of a few hundred commits wait and go at once. The table moved all
// its buckets each time.
TEST_CASE("a table keeps its size while the number of its entries rises and falls") {
  Fixture f;
  const size_t buckets = f.table.buckets();
  bool has_grown = false;
  for (int round = 0; round < 100; ++round) {
    for (size_t entries = 0; entries <= buckets + 100; entries += 64) {
      f.table.ResizeFor(entries);
      if (has_grown) REQUIRE(f.table.buckets() == 2 * buckets);
    }
    for (int call = 0; call < 100; ++call) f.table.ResizeFor(20);
    has_grown = true;
  }
}

TEST_CASE("actors link, find and unlink while the table grows and shrinks") {
  Fixture f;
  constexpr int kActors = 4, kKeys = 6000;
  std::atomic<uint64_t> linked{0};
  std::atomic<int> lost{0};
  std::vector<std::unique_ptr<Actor>> actors;
  actors.reserve(kActors);
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("table", [&, a] {
      WriteRecord* record = f.pool.Take();
      Rng rng(static_cast<uint64_t>(a));
      std::vector<VersionEntry*> mine;
      for (int i = 0; i < kKeys; ++i) {
        const std::string key = fmt::format("{}:{}", a, i);
        mine.push_back(f.Link(key, "x", record));
        const uint64_t entries = linked.fetch_add(1) + 1;
        f.table.ResizeFor(entries / 8000 % 2 == 0 ? entries : 0);
        const auto pick = rng.Below(mine.size());
        const auto picked = fmt::format("{}:{}", a, pick);
        if (f.Newest(picked) != mine[pick]) ++lost;
      }
      for (VersionEntry* entry : mine) f.table.Unlink(*entry);
    }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(lost == 0);
  for (int i = 0; i < kKeys; ++i) REQUIRE(f.Newest(fmt::format("0:{}", i)) == nullptr);
}

TEST_CASE("an arena begins in its owner's memory and gives every chunk back") {
  ChunkPool chunks(ThreadRuntime());
  alignas(8) std::byte first[512];
  {
    Arena arena(chunks, first, 0);
    std::memset(arena.Allocate(300), 1, 300);
    CHECK(chunks.used_bytes() == 0);
    for (int i = 0; i < 1000; ++i) std::memset(arena.Allocate(100), i, 100);
    CHECK(arena.bytes() >= 99'000);
    arena.Reset();
    CHECK(arena.bytes() == 0);
    CHECK(chunks.used_bytes() == 0);
    const size_t reserved = chunks.reserved_bytes();
    for (int i = 0; i < 1000; ++i) std::memset(arena.Allocate(100), i, 100);
    CHECK(chunks.reserved_bytes() == reserved);
    std::memset(arena.Allocate(100'000), 1, 100'000);
    arena.Reset();
    CHECK(chunks.reserved_bytes() == reserved);
  }
  CHECK(chunks.used_bytes() == 0);
}

TEST_CASE("records come back to the actor that took them, whoever returns them") {
  RecordPool pool(ThreadRuntime());
  WriteRecord* record = pool.Take();
  ThreadRuntime().Spawn("returner", [&] { pool.Return(record); })->Join();
  CHECK(pool.Take() == record);
  CHECK(pool.used_bytes() == sizeof(WriteRecord));
  pool.Return(record);
  CHECK(pool.used_bytes() == 0);
}

}  // namespace
}  // namespace latchkey::version_table_test
