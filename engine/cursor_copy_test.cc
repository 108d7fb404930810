// Cursor::CopyRecords beside the walk by Next and Prev.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"

namespace latchkey::cursor_copy_test {
namespace {

using Records = std::vector<std::pair<std::string, std::string>>;

std::string Key(int i) { return fmt::format("key{:05}", i); }

Records Unpack(std::string_view bytes) {
  Records records;
  while (!bytes.empty()) {
    uint32_t sizes[2];
    REQUIRE(bytes.size() >= sizeof sizes);
    std::memcpy(sizes, bytes.data(), sizeof sizes);
    bytes.remove_prefix(sizeof sizes);
    REQUIRE(bytes.size() >= size_t{sizes[0]} + sizes[1]);
    records.emplace_back(bytes.substr(0, sizes[0]), bytes.substr(sizes[0], sizes[1]));
    bytes.remove_prefix(size_t{sizes[0]} + sizes[1]);
  }
  return records;
}

void Begin(Cursor& cursor, bool forward) { forward ? cursor.SeekToFirst() : cursor.SeekToLast(); }

Records Walk(Cursor cursor, bool forward) {
  Records records;
  for (Begin(cursor, forward); cursor.Valid(); forward ? cursor.Next() : cursor.Prev()) {
    records.emplace_back(cursor.key(), cursor.value());
  }
  REQUIRE_OK(cursor.status());
  return records;
}

/// Reads the whole range by CopyRecords. Limits and room of each call come from `random`.
Records CopyAll(Cursor cursor, bool forward, std::mt19937& random) {
  Records records;
  Begin(cursor, forward);
  while (cursor.Valid()) {
    const size_t max_records = 1 + random() % 100, max_bytes = random() % 5000;
    std::string room(random() % 6000, '?');
    Cursor::Copies copies = cursor.CopyRecords(forward, max_records, max_bytes, room);
    if (copies.records == 0) {
      REQUIRE(copies.bytes == 0);
      REQUIRE(copies.needed > room.size());
      room.resize(copies.needed);
      copies = cursor.CopyRecords(forward, 1, 0, room);
      REQUIRE(copies.bytes == room.size());
    }
    REQUIRE(copies.bytes <= room.size());
    const Records now = Unpack(std::string_view(room).substr(0, copies.bytes));
    REQUIRE(now.size() == copies.records);
    REQUIRE(now.size() <= max_records);
    size_t payload = 0;
    for (size_t i = 0; i + 1 < now.size(); ++i)
      payload += now[i].first.size() + now[i].second.size();
    REQUIRE((now.size() == 1 || payload < max_bytes));
    records.insert(records.end(), now.begin(), now.end());
  }
  REQUIRE_OK(cursor.status());
  CHECK(cursor.CopyRecords(forward, 1, 1, {}).records == 0);
  return records;
}

std::string RandomValue(std::mt19937& random) {
  const size_t size = random() % 20 == 0 ? 5000 : random() % 300;  // 5000: in pages of its own
  return std::string(size, static_cast<char>('a' + random() % 26));
}

TEST_CASE("Copied records are those that the walk of a cursor shows") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 2000; ++i) {
    REQUIRE_OK(db->Put(tree, Key(random() % 3000), RandomValue(random)));
  }
  REQUIRE_OK(db->Put(tree, "", "the empty key"));
  Transaction old = db->Begin({.read_only = true});  // deletes behind it leave ghosts
  for (int i = 0; i < 300; ++i) {
    const std::string key = Key(random() % 3000);
    if (random() % 3 != 0)
      REQUIRE_OK(db->Put(tree, key, RandomValue(random)));
    else
      db->Delete(tree, key).IgnoreError();
  }
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(1000), .to = Key(1200)}));
  const Isolation isolation = GENERATE(Isolation::kSnapshot, Isolation::kSerializable);
  Transaction own = db->Begin({.isolation = isolation});
  for (int i = 0; i < 50; ++i) REQUIRE_OK(own.Put(tree, Key(random() % 3000), RandomValue(random)));
  for (Transaction* txn : {&old, &own}) {
    for (const bool forward : {true, false}) {
      for (const KeyRange& range : {KeyRange{}, KeyRange{.from = Key(500), .to = Key(2500)},
                                    KeyRange{.from = Key(1100), .to = Key(1150)}}) {
        const Records walked = Walk(txn->NewCursor(tree, range), forward);
        CHECK((CopyAll(txn->NewCursor(tree, range), forward, random) == walked));
      }
    }
  }
}

TEST_CASE(
    "Behind copied records a cursor stands on the next one, and sees what its transaction writes") {
  const bool forward = GENERATE(true, false);
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 1000; i += 10) REQUIRE_OK(db->Put(tree, Key(i), "old"));
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(tree);
  Begin(cursor, forward);
  std::string room(10'000, '?');
  REQUIRE(cursor.CopyRecords(forward, 10, SIZE_MAX, room).records == 10);
  REQUIRE(cursor.Valid());
  CHECK(cursor.key() == Key(forward ? 100 : 890));
  REQUIRE_OK(txn.Put(tree, Key(forward ? 105 : 885), "new"));
  REQUIRE_OK(txn.Delete(tree, Key(forward ? 110 : 880)));
  const Cursor::Copies copies = cursor.CopyRecords(forward, 3, SIZE_MAX, room);
  const Records seen = Unpack(std::string_view(room).substr(0, copies.bytes));
  CHECK((seen == (forward ? Records{{Key(100), "old"}, {Key(105), "new"}, {Key(120), "old"}}
                          : Records{{Key(890), "old"}, {Key(885), "new"}, {Key(870), "old"}})));
  forward ? cursor.Next() : cursor.Prev();
  CHECK(cursor.key() == Key(forward ? 140 : 850));
}

TEST_CASE("One call copies the records of many leaves, with gaps between them") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 5000; ++i) REQUIRE_OK(db->Put(tree, Key(i), std::string(i % 90, 'v')));
  Transaction old = db->Begin({.read_only = true});
  const bool leaves_ghosts = GENERATE(true, false);
  if (!leaves_ghosts) REQUIRE_OK(old.Rollback());
  for (int i = 1000; i < 2500; ++i) REQUIRE_OK(db->Delete(tree, Key(i)));
  for (int i = 2500; i < 5000; i += 2) REQUIRE_OK(db->Delete(tree, Key(i)));
  REQUIRE_OK(db->Put(tree, Key(700), std::string(9000, 'l')));  // in pages of its own
  Transaction txn = db->Begin({.read_only = true});
  for (const bool forward : {true, false}) {
    for (const KeyRange& range : {KeyRange{}, KeyRange{.from = Key(950), .to = Key(2600)},
                                  KeyRange{.from = Key(1100), .to = Key(2100)}}) {
      const Records walked = Walk(txn.NewCursor(tree, range), forward);
      for (const size_t at_once : {walked.size() + 1, size_t{700}, size_t{41}}) {
        Cursor cursor = txn.NewCursor(tree, range);
        Records copied;
        std::string room(1 << 20, '?');
        for (Begin(cursor, forward); cursor.Valid();) {
          const Cursor::Copies copies = cursor.CopyRecords(forward, at_once, SIZE_MAX, room);
          const Records now = Unpack(std::string_view(room).substr(0, copies.bytes));
          REQUIRE((now.size() == at_once || !cursor.Valid()));
          copied.insert(copied.end(), now.begin(), now.end());
        }
        REQUIRE_OK(cursor.status());
        CHECK((copied == walked));
      }
    }
  }
}

TEST_CASE("A phantom among copied records refuses a serializable commit") {
  const int inserted = GENERATE(5, 15, 35);
  CAPTURE(inserted);
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i <= 50; i += 10) REQUIRE_OK(db->Put(tree, Key(i), "value"));
  Transaction txn = db->Begin({.isolation = Isolation::kSerializable});
  Cursor cursor = txn.NewCursor(tree);
  cursor.Seek(Key(10));
  std::string room(1000, '?');
  REQUIRE(cursor.CopyRecords(true, 2, SIZE_MAX, room).records == 2);  // and it stands on the third
  REQUIRE_OK(txn.Put(tree, "mine", "value"));
  REQUIRE_OK(db->Put(tree, Key(inserted), "phantom"));
  CHECK(absl::IsAborted(txn.Commit()) == (inserted == 15));
}

TEST_CASE("A cursor that cannot move copies nothing and keeps its error") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "v"));
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(tree);
  std::string room(100, '?');
  CHECK(cursor.CopyRecords(true, 9, 9, room).records == 0);  // before the first seek
  cursor.SeekToFirst();
  REQUIRE_OK(txn.Rollback());
  const Cursor::Copies copies = cursor.CopyRecords(true, 9, SIZE_MAX, room);
  CHECK(copies.records <= 1);  // that on which it stood
  CHECK_FALSE(cursor.Valid());
  CHECK(absl::IsFailedPrecondition(cursor.status()));
  Cursor moved = std::move(cursor);
  CHECK(cursor.CopyRecords(true, 9, 9, room).records == 0);  // NOLINT: it was moved from
}

}  // namespace
}  // namespace latchkey::cursor_copy_test
