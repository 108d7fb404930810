// Which changes log an image of their page before them, and what happens when there is no room.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/log/engine_log.h"
#include "engine/log/testing/logged_trees.h"

namespace latchkey::first_images_test {
namespace {

using Types = std::vector<LogRecordType>;
constexpr LogRecordType kChange = LogRecordType::kChange;
constexpr LogRecordType kCompensation = LogRecordType::kCompensation;
constexpr LogRecordType kImages = LogRecordType::kImages;
constexpr LogRecordType kCommit = LogRecordType::kCommit;
constexpr LogRecordType kEnd = LogRecordType::kEnd;

void Require(const absl::Status& status) {
  if (!status.ok()) FAIL(status.message());
}

struct Reliance {
  bool relies = false;
};

// One tree over a store that wants images; its pages are as a checkpoint has written them.
struct Db : Reliance, LoggedTrees {
  Db()
      : LoggedTrees(
            {.page_size = kPageSize, .rely_on_images = [this](bool rely) { relies = rely; }}) {
    Put("a", "1");
    Put("b", "1");
    BeginCheckpoint();
  }

  void Put(std::string_view key, std::string_view value) {
    TransactionImpl txn(context);
    Require(txn.Begin());
    Require(txn.Put(tree, key, value));
    Require(txn.Commit());
  }
  Lsn BeginCheckpoint() { return engine_log->Snapshot().as_of; }
  /// The records that `body` leaves.
  template <typename Body>
  Types TypesOf(Body body) {
    const size_t before = log.Records().size();
    body();
    const std::vector<MemoryLog::Record> records = log.Records();
    Types types;
    LogRecord record;
    for (size_t i = before; i < records.size(); ++i) {
      Require(DecodeLogRecord(records[i].bytes, &record));
      types.push_back(record.header.type);
    }
    return types;
  }
  /// From here on the log has no room but for what has been reserved.
  void FillLog() { log.limit = 0; }

  TreeImpl& tree = NewTree();
};

TEST_CASE("The first change of a page since a checkpoint began logs its image before") {
  Db db;
  CHECK(db.TypesOf([&] { db.Put("a", "2"); }) == Types{kImages, kChange, kCommit});
  CHECK(db.TypesOf([&] { db.Put("b", "2"); }) == Types{kChange, kCommit});
  db.BeginCheckpoint();
  CHECK(db.TypesOf([&] { db.Put("a", "3"); }) == Types{kImages, kChange, kCommit});
  CHECK(db.log.reserved() == 0);
  CHECK(db.relies);
}

TEST_CASE("A rollback's change and a purged ghost log the image that is due") {
  Db db;
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  Require(txn.Put(db.tree, "a", "2"));
  Require(txn.Put(db.tree, "b", "2"));
  db.BeginCheckpoint();
  CHECK(db.TypesOf([&] { Require(txn.Rollback()); }) ==
        Types{kImages, kCompensation, kCompensation, kEnd});
  Require(txn.Begin());
  Require(txn.Delete(db.tree, "a"));
  db.BeginCheckpoint();
  CHECK(db.TypesOf([&] { Require(txn.Commit()); }) == Types{kCommit, kImages, kChange});
  CHECK(db.log.reserved() == 0);
}

TEST_CASE("A lock, which logs nothing itself, logs the image that is due") {
  Db db;
  const auto lock = [&] {
    TransactionImpl txn(db.context);
    std::string value;
    Require(txn.Begin());
    Require(txn.GetForUpdate(db.tree, "a", &value));
    Require(txn.Commit());
  };
  CHECK(db.TypesOf(lock) == Types{kImages});
  CHECK(db.TypesOf(lock).empty());
  CHECK(db.TypesOf([&] { db.Put("b", "2"); }) == Types{kChange, kCommit});
  CHECK(db.log.reserved() == 0);
}

TEST_CASE("A checkpoint that begins in the moment of a change still gets its image") {
  Db db;
  db.Put("a", "2");
  db.log.before_append = [&] { db.BeginCheckpoint(); };
  CHECK(db.TypesOf([&] { db.Put("a", "3"); }) == Types{kImages, kChange, kCommit});
  CHECK(db.log.reserved() == 0);
}

TEST_CASE("A change takes its image's room before it begins, or does not happen") {
  Db db;
  db.FillLog();
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  CHECK(absl::IsResourceExhausted(txn.Put(db.tree, "a", "2")));
  CHECK(db.relies);
}

TEST_CASE("A rollback without room for an image goes on, and the store protects its pages itself") {
  Db db;
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  Require(txn.Put(db.tree, "a", "2"));
  const Lsn before = db.BeginCheckpoint();
  db.FillLog();
  CHECK(db.TypesOf([&] { Require(txn.Rollback()); }) == Types{kCompensation, kEnd});
  CHECK_FALSE(db.relies);
  db.log.limit = UINT64_MAX;
  db.engine_log->EndCheckpoint(before);  // began too early
  CHECK_FALSE(db.relies);
  db.engine_log->EndCheckpoint(db.BeginCheckpoint());
  CHECK(db.relies);
  CHECK(db.TypesOf([&] { db.Put("a", "3"); }) == Types{kImages, kChange, kCommit});
  CHECK(db.log.reserved() == 0);
}

TEST_CASE("A lock at a full log logs no image, and the store protects its pages itself") {
  Db db;
  db.FillLog();
  TransactionImpl txn(db.context);
  std::string value;
  Require(txn.Begin());
  CHECK(db.TypesOf([&] { Require(txn.GetForUpdate(db.tree, "a", &value)); }).empty());
  CHECK_FALSE(db.relies);
  Require(txn.Commit());
}

TEST_CASE("A page with nothing but a mark is written by the next checkpoint") {
  Db db;
  db.Put("a", "2");
  Require(db.pool->WriteAllDirty());
  TransactionImpl txn(db.context);
  std::string value;
  Require(txn.Begin());
  Require(txn.GetForUpdate(db.tree, "a", &value));
  Require(txn.Commit());
  REQUIRE(db.pool->stats().dirty_frames == 1);
  const Lsn checkpoint = db.BeginCheckpoint();
  Require(db.pool->WriteDirtyBefore(checkpoint));
  CHECK(db.pool->stats().dirty_frames == 1);
  Require(db.pool->WriteDirtyBefore(checkpoint, /*unlogged_too=*/true));
  CHECK(db.pool->stats().dirty_frames == 0);
}

TEST_CASE("When redo may change pages without images the first checkpoint has to come before") {
  bool relies = true;
  LoggedTrees db({.page_size = LoggedTrees::kPageSize,
                  .rely_on_images = [&](bool rely) { relies = rely; },
                  .redo_has_images = false});
  CHECK_FALSE(relies);
  db.NewTree();
  db.engine_log->EndCheckpoint(db.engine_log->Snapshot().as_of);
  CHECK(relies);
}

}  // namespace
}  // namespace latchkey::first_images_test
