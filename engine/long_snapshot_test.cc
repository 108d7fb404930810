// A snapshot that lives long beside appends: what it sees, and how many versions are kept for it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"

namespace latchkey::long_snapshot_test {
namespace {

constexpr int kPlaces = 20;

// A database with two trees. The test appends to the table at `kPlaces` places, and to the log at its end.
// `reader` holds a snapshot of both.
struct Growing {
  std::unique_ptr<Database> db;
  Tree table, log;
  std::map<std::string, std::string> table_then, log_then;
  std::optional<Transaction> reader;
  int rounds = 0;

  explicit Growing(Durability durability) {
    Options options;
    options.cache_bytes = 32 << 20;
    options.durability = durability;
    db = OpenInMemory(options);
    table = TreeOrFail(*db, "table");
    log = TreeOrFail(*db, "log");
    for (int i = 0; i < 100; ++i) Append(/*value=*/"then");
    table_then = Scan(table, nullptr);
    log_then = Scan(log, nullptr);
    reader.emplace(db->Begin({.read_only = true}));
    CHECK(Scan(log, &*reader) == log_then);
  }
  static std::string Key(int place, int i) {
    return fmt::format("place {:02} record {:08}", place, i);
  }
  // One more record at each place, by a transaction each.
  void Append(const std::string& value) {
    for (int place = 0; place < kPlaces; ++place) {
      REQUIRE_OK(db->Put(table, Key(place, rounds), value));
      REQUIRE_OK(db->Put(log, Key(0, rounds * kPlaces + place), value));
    }
    ++rounds;
  }
  // Appends, and gives the reclaimer time now and then.
  void AppendMany(int more) {
    for (int i = 0; i < more; ++i) {
      Append("later");
      if (i % 16 == 0) ThreadRuntime().SleepFor(1'000'000);
    }
  }
  std::map<std::string, std::string> Scan(const Tree& tree, Transaction* txn) {
    std::map<std::string, std::string> records;
    Transaction own = db->Begin({.read_only = true});
    Cursor cursor = (txn == nullptr ? own : *txn).NewCursor(tree);
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      records.emplace(cursor.key(), cursor.value());
    }
    REQUIRE_OK(cursor.status());
    return records;
  }
  void CheckReader() {
    CHECK(Scan(table, &*reader) == table_then);
    CHECK(Scan(log, &*reader) == log_then);
    std::string value;
    REQUIRE_OK(reader->Get(table, Key(3, 99), &value));
    CHECK(value == "then");
    CHECK(absl::IsNotFound(reader->Get(table, Key(3, 100), &value)));
    CHECK(absl::IsNotFound(reader->Get(log, Key(0, 100 * kPlaces), &value)));
  }
};

TEST_CASE("beside a long snapshot, appends inside of a tree and at its end keep few versions") {
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  Growing g(durability);
  g.AppendMany(200);  // until all gaps are noted
  const uint64_t before = g.db->GetStatistics().versions;
  constexpr int kRounds = kSanitizer ? 100 : 400;
  g.AppendMany(kRounds);
  // Each append kept a version before there were gaps. Now those are left that have not settled yet.
  CHECK(g.db->GetStatistics().versions < before + kRounds * kPlaces / 4);
  g.CheckReader();
  CHECK(g.Scan(g.log, nullptr).size() == static_cast<size_t>(g.rounds * kPlaces));
  REQUIRE_OK(g.reader->Commit());
  REQUIRE_OK(g.db->Verify());
  CHECK(g.db->GetStatistics().versions == 0);
}

TEST_CASE("a long snapshot never sees records that were appended after it began") {
  const Durability durability = GENERATE(Durability::kNone, Durability::kGroup);
  Growing g(durability);
  g.AppendMany(100);
  // A second long snapshot, which sees these.
  Transaction second = g.db->Begin({.read_only = true});
  const auto table_second = g.Scan(g.table, &second);
  g.AppendMany(100);
  for (int i = 50; i < g.rounds; i += 2) {
    for (int place = 0; place < kPlaces; place += 3) {
      REQUIRE_OK(g.db->Delete(g.table, Growing::Key(place, i)));
      REQUIRE_OK(g.db->Put(g.table, Growing::Key(place, i + 1), std::string(3000, 'x')));
    }
  }
  g.AppendMany(30);
  g.CheckReader();
  CHECK(g.Scan(g.table, &second) == table_second);
  // A range of appended records, which the snapshots below it keep in the pages until they end.
  REQUIRE_OK(g.db->DeleteRange(
      g.log, {.from = Growing::Key(0, 100 * kPlaces), .to = Growing::Key(0, 150 * kPlaces)}));
  g.CheckReader();
  REQUIRE_OK(second.Commit());
  g.CheckReader();
  REQUIRE_OK(g.reader->Commit());
  REQUIRE_OK(g.db->Verify());
}

TEST_CASE("a transaction that has read for long is refused for records that were appended since") {
  Growing g(Durability::kNone);
  Transaction old = g.db->Begin();
  std::string value;
  REQUIRE_OK(old.Get(g.table, Growing::Key(3, 0), &value));
  g.AppendMany(100);
  REQUIRE_OK(old.Put(g.table, Growing::Key(5, 100'000), "own"));
  REQUIRE_OK(old.Put(g.table, Growing::Key(5, 100'000), "own, again"));
  REQUIRE_OK(old.Get(g.table, Growing::Key(5, 100'000), &value));
  CHECK(value == "own, again");
  CHECK(absl::IsAborted(old.Put(g.table, Growing::Key(3, 150), "unseen")));
  g.CheckReader();
  REQUIRE_OK(g.reader->Commit());
}

// A gap once kept the undo of every older transaction in memory. A transaction that read for some
// milliseconds and then wrote much had no room for its undo. It failed each time it was run.
TEST_CASE("a transaction that has read for long writes more than fits into memory") {
  Growing g(Durability::kNone);
  constexpr int kWrites = 10'000;
  const auto key = [](int i) { return fmt::format("other place {:08}", i); };
  Transaction old = g.db->Begin();
  std::string value;
  REQUIRE_OK(old.Get(g.table, Growing::Key(3, 0), &value));
  g.AppendMany(100);
  for (const std::string& written : {std::string(300, 'l'), std::string("again")}) {
    for (int i = 0; i < kWrites; ++i) REQUIRE_OK(old.Put(g.table, key(i), written));
  }
  CHECK(g.db->GetStatistics().version_bytes_spilled > 0);
  for (int i = 0; i < kWrites; i += 100) {
    REQUIRE_OK(old.Get(g.table, key(i), &value));
    CHECK(value == "again");
  }
  REQUIRE_OK(old.Commit());
  g.CheckReader();
  REQUIRE_OK(g.reader->Commit());
  REQUIRE_OK(g.db->Verify());
}

}  // namespace
}  // namespace latchkey::long_snapshot_test
