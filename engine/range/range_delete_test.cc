// DeleteRange and ClearTree through the public interface: what is deleted, what older snapshots go
// on reading, which calls wait for which, and what is refused.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/runtime.h"

namespace latchkey::range_delete_test {
namespace {

using Catch::Contains;
using Records = std::map<std::string, std::string>;

std::string Key(uint64_t number) { return KeyWriter().UInt(number).key(); }
std::string Value(uint64_t number) { return std::to_string(number) + std::string(90, 'v'); }

Records Contents(Transaction& txn, Tree tree) {
  Records found;
  Cursor cursor = txn.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    found.emplace(cursor.key(), cursor.value());
  }
  REQUIRE_OK(cursor.status());
  return found;
}

Records Contents(Database& db, Tree tree) {
  Transaction txn = db.Begin();
  return Contents(txn, tree);
}

void Erase(Records& records, const KeyRange& range) {
  std::erase_if(records, [&](const auto& entry) {
    return (!range.from || *range.from <= entry.first) && (!range.to || entry.first < *range.to);
  });
}

Records Fill(Database& db, Tree tree, uint64_t count) {
  Records records;
  REQUIRE_OK(db.RunTransaction([&](Transaction& txn) -> absl::Status {
    absl::Status put;
    for (uint64_t i = 0; i < count && put.ok(); ++i) put = txn.Put(tree, Key(i), Value(i));
    return put;
  }));
  for (uint64_t i = 0; i < count; ++i) records[Key(i)] = Value(i);
  return records;
}

std::unique_ptr<Database> OpenLogged() {
  return OpenInMemory(ImpatientOptions(Durability::kCommit));
}

TEST_CASE("A range delete leaves what an ordered map leaves, in trees of every height") {
  const auto durability = GENERATE(Durability::kCommit, Durability::kNone);
  for (uint64_t seed = 1; seed <= (kSanitizer ? 2 : 6); ++seed) {
    CAPTURE(seed, static_cast<int>(durability));
    Rng rng(seed);
    auto db = OpenInMemory(ImpatientOptions(durability));
    const Tree tree = TreeOrFail(*db, "t");
    Records model;
    for (int round = 0; round < 25; ++round) {
      REQUIRE_OK(db->RunTransaction([&](Transaction& txn) -> absl::Status {
        absl::Status put;
        for (int i = 0; i < 300 && put.ok(); ++i) {
          const uint64_t size = rng.Below(60) == 0 ? 5000 : rng.Below(400);
          // Long keys with long common prefixes make high trees.
          const std::string key = std::string(rng.Below(2) * 500, 'p') + Key(rng.Below(4000));
          const std::string value(size, static_cast<char>('a' + rng.Below(26)));
          put = txn.Put(tree, key, value);
          model[key] = value;
        }
        return put;
      }));
      KeyRange range;
      const auto bound = [&] {
        return std::string(rng.Below(2) * 500, 'p') + Key(rng.Below(4000));
      };
      if (rng.Below(4) != 0) range.from = bound();
      if (rng.Below(4) != 0) range.to = bound();
      if (range.from && range.to && *range.to < *range.from) std::swap(range.from, range.to);
      REQUIRE_OK(db->DeleteRange(tree, range));
      Erase(model, range);
      REQUIRE(Contents(*db, tree) == model);
      REQUIRE_OK(db->Verify());
    }
    REQUIRE_OK(db->ClearTree(tree));
    CHECK(Contents(*db, tree).empty());
    REQUIRE_OK(db->Verify());
    model = Fill(*db, tree, 500);
    CHECK(Contents(*db, tree) == model);
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("A range delete of many records logs a byte or two for each page") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  constexpr uint64_t kRecords = 100'000;
  Fill(*db, tree, kRecords);
  const uint64_t before = db->GetStatistics().log->record_bytes;
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(5), .to = Key(kRecords - 5)}));
  CHECK(db->GetStatistics().log->record_bytes - before < 64 << 10);
  CHECK(Contents(*db, tree).size() == 10);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Snapshots and cursors older than a range delete go on reading its records") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  const Records all = Fill(*db, tree, 3000);
  Transaction older = db->Begin();
  Cursor cursor = older.NewCursor(tree);
  cursor.Seek(Key(1000));
  REQUIRE(cursor.key() == Key(1000));
  const KeyRange range{.from = Key(500), .to = Key(2500)};
  REQUIRE_OK(db->DeleteRange(tree, range));
  Records left = all;
  Erase(left, range);

  std::string value;
  CHECK(absl::IsNotFound(db->Get(tree, Key(1000), &value)));
  Transaction newer = db->Begin();
  CHECK(absl::IsNotFound(newer.Get(tree, Key(1000), &value)));
  CHECK(Contents(newer, tree) == left);
  std::vector<std::optional<std::string>> values;
  const std::string key = Key(600);
  const std::string_view keys[] = {key};
  REQUIRE_OK(db->MultiGet(tree, keys, &values));
  CHECK_FALSE(values[0].has_value());

  REQUIRE_OK(older.Get(tree, Key(1000), &value));
  CHECK(value == Value(1000));
  for (uint64_t i = 1000; i < 3000; ++i, cursor.Next()) REQUIRE(cursor.key() == Key(i));
  CHECK(Contents(older, tree) == all);
  REQUIRE_OK(older.Commit());
  CHECK(Contents(newer, tree) == left);
  REQUIRE_OK(newer.Commit());
  REQUIRE_OK(db->Put(tree, Key(1000), "new"));  // no snapshot needs the old record any more
  left[Key(1000)] = "new";
  CHECK(Contents(*db, tree) == left);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Writes to a deleted range wait for older snapshots, other writes do not") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  Fill(*db, tree, 100);
  Transaction older = db->Begin();
  std::string value;
  REQUIRE_OK(older.Get(tree, Key(0), &value));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(10), .to = Key(90)}));
  const absl::Status put = db->Put(tree, Key(50), "new");
  CHECK(absl::IsAborted(put));
  CHECK_THAT(std::string(put.message()), Contains("range delete"));
  REQUIRE_OK(db->Put(tree, Key(9), "new"));
  REQUIRE_OK(db->Put(tree, Key(90), "new"));
  CHECK(absl::IsAborted(older.Put(tree, Key(50), "old")));  // it has read, so it is too late
  REQUIRE_OK(db->Put(tree, Key(50), "new"));
  REQUIRE_OK(db->Get(tree, Key(50), &value));
  CHECK(value == "new");
  REQUIRE_OK(db->Verify());
}

// A range delete ends when the older snapshots have expired. It has marked the pages that it changed. The
// marks make a writer look whether its own snapshot has expired.
TEST_CASE("A write to a deleted range is refused if the writer's snapshot has expired") {
  Options options = ImpatientOptions(Durability::kNone);
  options.version_store_bytes = 64 << 10;
  options.snapshot_spill_bytes = 1;  // nothing can be spilled
  auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "t"), other = TreeOrFail(*db, "other");
  Fill(*db, tree, 500);
  Fill(*db, other, 100);
  for (uint64_t i = 0; i < 100; ++i) REQUIRE_OK(db->Put(other, Key(i), "changed"));
  Transaction txn = db->Begin();
  std::string value;
  REQUIRE_OK(txn.Get(tree, Key(250), &value));
  REQUIRE_OK(db->ClearTree(tree));
  // In no order: appends would leave no versions.
  for (uint64_t i = 0; i < 4000; ++i) REQUIRE_OK(db->Put(other, Key(i * 7919 % 100'003), Value(i)));
  REQUIRE(db->GetStatistics().snapshots_too_old > 0);
  REQUIRE_OK(db->Verify());  // it ends the range delete first
  const absl::Status put = txn.Put(tree, Key(250), value + "!");
  CHECK(absl::IsAborted(put));
  CHECK_THAT(std::string(put.message()), Contains("snapshot too old"));
  CHECK(Contents(*db, tree).empty());
}

TEST_CASE("A range delete waits for the writers of its tree, and refuses one of its own thread") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  Fill(*db, tree, 100);
  Transaction writer = db->Begin();
  REQUIRE_OK(writer.Put(tree, Key(50), "new"));
  const absl::Status refused = db->ClearTree(tree);
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()), Contains("this thread"));
  absl::Status waited;
  auto other = ThreadRuntime().Spawn("other", [&] { waited = db->ClearTree(tree); });
  other->Join();
  CHECK(absl::IsAborted(waited));
  CHECK_THAT(std::string(waited.message()), Contains("has not ended"));
  REQUIRE_OK(writer.Commit());
  CHECK(Contents(*db, tree).size() == 100);
  REQUIRE_OK(db->ClearTree(tree));
  CHECK(Contents(*db, tree).empty());
}

TEST_CASE("A serializable transaction that has read a deleted range is refused") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t"), other = TreeOrFail(*db, "other");
  Fill(*db, tree, 100);
  Transaction txn = db->Begin({.isolation = Isolation::kSerializable});
  std::string value;
  REQUIRE_OK(txn.Get(tree, Key(50), &value));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(40), .to = Key(60)}));
  REQUIRE_OK(txn.Put(other, "k", value));
  CHECK(absl::IsAborted(txn.Commit()));
}

TEST_CASE("A range delete that cannot be done says why and deletes nothing") {
  auto db = OpenLogged();
  auto second = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  const Records all = Fill(*db, tree, 100);
  CHECK(absl::IsInvalidArgument(db->DeleteRange(tree, {.from = Key(2), .to = Key(1)})));
  CHECK(absl::IsInvalidArgument(
      db->DeleteRange(tree, {.from = std::string(1025, 'x'), .to = std::nullopt})));
  CHECK(absl::IsInvalidArgument(db->ClearTree(Tree())));
  CHECK(absl::IsFailedPrecondition(second->ClearTree(tree)));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(2), .to = Key(2)}));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(1000), .to = std::nullopt}));
  CHECK(Contents(*db, tree) == all);
  REQUIRE_OK(db->DropTree("t"));
  CHECK(absl::IsFailedPrecondition(db->ClearTree(tree)));
  REQUIRE_OK(db->Close());
  CHECK(absl::IsFailedPrecondition(db->ClearTree(tree)));
}

TEST_CASE("A tree may be dropped while a snapshot keeps the records of a deleted range") {
  auto db = OpenLogged();
  const Tree tree = TreeOrFail(*db, "t");
  Fill(*db, tree, 3000);
  Transaction older = db->Begin();
  std::string value;
  REQUIRE_OK(older.Get(tree, Key(0), &value));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(10), .to = Key(2000)}));
  REQUIRE_OK(db->DropTree("t"));
  REQUIRE_OK(older.Rollback());
  REQUIRE_OK(db->Checkpoint());
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A close finishes the range deletes that a snapshot has held up") {
  const TempDir dir;
  const std::string path = (dir.path() / "db").string();
  const auto durability = GENERATE(Durability::kCommit, Durability::kNone);
  auto db = OpenOrFail(path, ImpatientOptions(durability));
  const Tree tree = TreeOrFail(*db, "t");
  Fill(*db, tree, 3000);
  Transaction older = db->Begin();
  std::string value;
  REQUIRE_OK(older.Get(tree, Key(0), &value));
  REQUIRE_OK(db->DeleteRange(tree, {.from = Key(10), .to = Key(2000)}));
  REQUIRE_OK(db->Close());
  db = OpenOrFail(path, ImpatientOptions(durability));
  CHECK(Contents(*db, TreeOrFail(*db, "t")).size() == 1010);
  REQUIRE_OK(db->Verify());
}

// Each writer owns the keys of its residue and knows what it has committed. A range delete takes a
// block of keys that a token guards, so writers know between which of their writes it came.
TEST_CASE("Range deletes beside writers and readers delete each block wholly or not at all",
          "[concurrency]") {
  constexpr uint64_t kBlock = 400, kBlocks = 4;
  constexpr int kRounds = kThreadSanitizer ? 15 : 60;
  Options options = ImpatientOptions(Durability::kGroup);
  options.lock_wait_ms = 20'000;
  auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "t");
  Fill(*db, tree, kBlock * kBlocks);
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Actor>> threads;
  std::vector<absl::Status> ends(4);
  for (uint64_t t = 0; t < 2; ++t) {
    threads.push_back(ThreadRuntime().Spawn("writer", [&, t] {
      Rng rng(t);
      while (!stop.load() && ends[t].ok()) {
        // A block is written as a whole, so a reader must find all of it or nothing.
        const uint64_t block = rng.Below(kBlocks);
        const std::string value = std::to_string(rng.Below(1000));
        ends[t] = db->RunTransaction([&](Transaction& txn) -> absl::Status {
          absl::Status put;
          for (uint64_t i = 0; i < kBlock && put.ok(); ++i) {
            put = txn.Put(tree, Key(block * kBlock + i), value);
          }
          return put;
        });
      }
    }));
  }
  threads.push_back(ThreadRuntime().Spawn("reader", [&] {
    while (!stop.load() && ends[2].ok()) {
      Transaction txn = db->Begin();
      for (uint64_t block = 0; block < kBlocks; ++block) {
        Cursor cursor =
            txn.NewCursor(tree, {.from = Key(block * kBlock), .to = Key((block + 1) * kBlock)});
        uint64_t count = 0;
        std::string first;
        bool same = true;
        for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
          if (count++ == 0) first = cursor.value();
          same = same && (cursor.value() == first || cursor.value().size() > 90);
        }
        ends[2].Update(cursor.status());
        if ((count != 0 && count != kBlock) || !same) {
          ends[2].Update(absl::InternalError("a block of " + std::to_string(count)));
        }
        std::string value;
        const absl::Status got = txn.Get(tree, Key(block * kBlock + 7), &value);
        if (got.ok() != (count == kBlock)) ends[2].Update(absl::InternalError("get and cursor"));
      }
    }
  }));
  Rng rng(9);
  for (int round = 0; round < kRounds && ends[3].ok(); ++round) {
    const uint64_t block = rng.Below(kBlocks);
    ends[3] = db->DeleteRange(tree, {.from = Key(block * kBlock), .to = Key((block + 1) * kBlock)});
  }
  stop.store(true);
  for (const std::unique_ptr<Actor>& thread : threads) thread->Join();
  for (const absl::Status& end : ends) REQUIRE_OK(end);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A range delete reads leaves only in a tree that has ever held a long value") {
  const bool held_one = GENERATE(false, true);
  const bool reopens = GENERATE(false, true);
  CAPTURE(held_one, reopens);
  constexpr uint64_t kRecords = 40'000;
  const TempDir dir;
  Options options;
  options.cache_bytes = 4 << 20;
  const std::string path = (dir.path() / "db").string();
  auto db = std::move(*Database::Open(path, options));
  auto load = std::move(*db->NewBulkLoader("t"));
  for (uint64_t i = 0; i < kRecords; ++i) REQUIRE_OK(load->Put(Key(i), Value(i)));
  Tree tree = *load->Finish();
  load.reset();
  if (held_one) {
    REQUIRE_OK(db->Put(tree, Key(kRecords), std::string(20'000, 'l')));
    REQUIRE_OK(db->Delete(tree, Key(kRecords)));
  }
  if (reopens) {
    db.reset();
    db = std::move(*Database::Open(path, options));
    tree = *db->OpenTree("t");
  }
  const uint64_t before = db->GetStatistics().page_reads;
  REQUIRE_OK(db->ClearTree(tree));
  const uint64_t reads = db->GetStatistics().page_reads - before;
  CHECK((held_one ? reads > 200 : reads < 50));
  REQUIRE_OK(db->Verify());
}

}  // namespace
}  // namespace latchkey::range_delete_test
