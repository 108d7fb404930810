#include "engine/txn/known_writes.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "engine/txn/version_table.h"

namespace latchkey::known_writes_test {
namespace {

constexpr TreeId kTree{7};
constexpr size_t kRoom = 1 << 20;

// Snapshots at 5 and 20, and those from 1,000,000 on.
LiveSnapshots TwoSnapshots() {
  return {.read_ts = {5, 20}, .as_of = 1'000'000, .oldest = 5, .validated_from = 1'000'000};
}

struct Fixture {
  explicit Fixture(size_t room = kRoom) {
    writes.SetMostBytes(room);
    writes.MakeRoom();
  }
  static uint64_t HashOf(TreeId tree, const std::string& key) {
    return VersionTable::HashOf(tree, key);
  }
  void Note(const std::string& key, CommitTs ts, TreeId tree = kTree) {
    writes.Note(HashOf(tree, key), tree, key, ts);
  }
  bool Has(const std::string& key, CommitTs ts, TreeId tree = kTree) {
    return writes.HasSince(HashOf(tree, key), tree, key, TwoSnapshots().NoneSince(ts), ts);
  }

  KnownWrites writes{ThreadRuntime()};
};

TEST_CASE("A write counts unless a snapshot reads between it and the next write of its key") {
  Fixture f;
  f.Note("k", 10);
  CHECK(f.Has("k", 20));  // the snapshot at 20 sees the write at 20
  f.Note("l", 10);
  CHECK_FALSE(f.Has("l", 21));
  f.Note("m", 5);
  CHECK_FALSE(f.Has("m", 6));  // the one at 5 sees the write at 5, and reads before 6
  f.Note("n", 6);
  CHECK(f.Has("n", 7));
}

TEST_CASE("The next write takes the place of the one that made it unneeded") {
  Fixture f;
  f.Note("k", 21);
  CHECK(f.Has("k", 30));
  CHECK_FALSE(f.Has("k", 30));  // is this write itself
  CHECK_FALSE(f.Has("k", 25));  // an older one is never made unneeded by a newer one
  CHECK(f.Has("k", 31));
  f.Note("k", 22);  // what settles late does not set it back
  CHECK_FALSE(f.Has("k", 31));
}

TEST_CASE("A write of another key or of another tree does not count") {
  Fixture f(8 << 20);  // no line gets a fifth write
  constexpr int kKeys = 10'000;
  for (int i = 0; i < kKeys; i += 2) f.Note(fmt::format("key {}", i), 30);
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = fmt::format("key {}", i);
    REQUIRE(f.Has(key, 40) == (i % 2 == 0));
    REQUIRE_FALSE(f.Has(key, 50, TreeId{8}));
  }
}

// The tree was the seed of the hash. XXH3 gives two keys of 16 bytes that differ in one bit the same 128
// bits for every other pair of neighbouring seeds. So a snapshot read a value of the future.
TEST_CASE("A key that differs in one bit does not count, in its tree or in the next ones") {
  Fixture f;
  for (const size_t size : {4, 8, 16, 24}) {
    const std::string key = std::string("2024-01-15T10:30:00.000Z").substr(0, size);
    for (uint32_t tree = 2; tree < 8; ++tree) {
      f.writes.Note(/*hash=*/1, TreeId{tree}, key, 30);
      for (size_t bit = 0; bit < 8 * size; ++bit) {
        std::string other = key;
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
        for (uint32_t in = 1; in < 10; ++in) {
          REQUIRE_FALSE(f.writes.HasSince(1, TreeId{in}, other, 0, 40));
        }
      }
      REQUIRE(f.writes.HasSince(1, TreeId{tree}, key, 0, 40));
    }
  }
}

TEST_CASE("A full table keeps its bytes and forgets the oldest writes first") {
  constexpr size_t kSmall = 64 << 10;
  Fixture f(kSmall);
  constexpr int kKeys = 20'000, kNewest = 1'000;
  for (int i = 0; i < kKeys; ++i) f.Note(fmt::format("key {}", i), 100 + i);
  CHECK(f.writes.bytes() <= kSmall);
  int oldest = 0, newest = 0;
  for (int i = 0; i < kNewest; ++i) {
    oldest += f.Has(fmt::format("key {}", i), 100'000);
    newest += f.Has(fmt::format("key {}", kKeys - 1 - i), 100'000);
  }
  CHECK(oldest == 0);
  CHECK(newest > kNewest * 8 / 10);
}

TEST_CASE("Without memory, and once cleared, no write counts") {
  KnownWrites none(ThreadRuntime());
  none.SetMostBytes(4095);
  none.MakeRoom();
  CHECK(none.bytes() == 0);
  none.Note(1, kTree, "k", 30);
  CHECK_FALSE(none.HasSince(1, kTree, "k", 0, 40));

  Fixture f;
  CHECK((f.writes.bytes() > kRoom / 2 && f.writes.bytes() <= kRoom));
  f.Note("k", 30);
  f.writes.Clear();
  CHECK(f.writes.bytes() == 0);
  CHECK_FALSE(f.Has("k", 40));
  f.writes.MakeRoom();
  CHECK_FALSE(f.Has("k", 40));
}

}  // namespace
}  // namespace latchkey::known_writes_test
