#include "engine/log/engine_log.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/log/testing/logged_trees.h"

namespace latchkey::engine_log_test {
namespace {

using Types = std::vector<LogRecordType>;
constexpr LogRecordType kChange = LogRecordType::kChange;
constexpr LogRecordType kCompensation = LogRecordType::kCompensation;
constexpr LogRecordType kImages = LogRecordType::kImages;
constexpr LogRecordType kAllocation = LogRecordType::kAllocation;
constexpr LogRecordType kFree = LogRecordType::kFree;
constexpr LogRecordType kCommit = LogRecordType::kCommit;
constexpr LogRecordType kEnd = LogRecordType::kEnd;

void Require(const absl::Status& status) {
  if (!status.ok()) FAIL(status.message());
}

// The records that `body` leaves.
template <typename Body>
Types TypesOf(LoggedTrees& db, Body body) {
  const size_t before = db.log.Records().size();
  body();
  const std::vector<MemoryLog::Record> records = db.log.Records();
  Types types;
  LogRecord record;
  for (size_t i = before; i < records.size(); ++i) {
    Require(DecodeLogRecord(records[i].bytes, &record));
    types.push_back(record.header.type);
  }
  return types;
}

struct Db : LoggedTrees {
  using LoggedTrees::LoggedTrees;
  TreeImpl& tree = NewTree();
  TransactionImpl txn{context};

  void Begin() { Require(txn.Begin()); }
  void Put(std::string_view key, std::string_view value) { Require(txn.Put(tree, key, value)); }
  void PutAlone(std::string_view key, std::string_view value) {
    Begin();
    Put(key, value);
    Require(txn.Commit());
  }
  std::optional<std::string> Get(std::string_view key) {
    TransactionImpl reader(context);
    Require(reader.Begin());
    std::string value;
    const absl::Status got = reader.Get(tree, key, &value);
    if (absl::IsNotFound(got)) return std::nullopt;
    Require(got);
    return value;
  }
  uint64_t LeafLsn(std::string_view key) {
    SharedGuard guard;
    OptimisticGuard leaf;
    Require(tree.btree.FindLeaf(pool->Here(), key, &leaf));
    Require(pool->FixShared(pool->Here(), leaf.page(), &guard));
    return RacyLoad<uint64_t>(guard.data() + offsetof(PageHeader, lsn));
  }
};

const std::string kLarge(3000, 'x');      // one page of its own
const std::string kHuge(3'000'000, 'y');  // two list pages

TEST_CASE("A transaction's writes leave a record each and a commit, in one chain") {
  Db db;
  CHECK(TypesOf(db, [&] {
          db.Begin();
          db.Put("a", "1");
          db.Put("b", "2");
          Require(db.txn.Delete(db.tree, "a"));
          Require(db.txn.Commit());
        }) == Types{kChange, kChange, kChange, kCommit, kChange});  // the last purges the ghost
  const std::vector<MemoryLog::Record> records = db.log.Records();
  LogRecord record;
  Lsn previous{0};
  for (size_t i = records.size() - 5; i < records.size() - 1; ++i) {
    Require(DecodeLogRecord(records[i].bytes, &record));
    CHECK(record.header.previous == previous);
    previous = records[i].lsn;
  }
  Require(DecodeLogRecord(records.back().bytes, &record));
  CHECK(record.header.txn == TxnId{0});
  CHECK(record.change.now == RecordState::kAbsent);
}

TEST_CASE("Who only reads or locks logs nothing") {
  Db db;
  db.PutAlone("a", "1");
  CHECK(TypesOf(db, [&] {
          std::string value;
          db.Begin();
          Require(db.txn.Get(db.tree, "a", &value));
          Require(db.txn.GetForUpdate(db.tree, "a", &value));
          Require(db.txn.Commit());
        }).empty());
}

TEST_CASE("A rollback logs a compensation for each key and an end, and gives its space back") {
  Db db;
  db.PutAlone("a", "1");
  CHECK(TypesOf(db, [&] {
          db.Begin();
          db.Put("a", "2");
          db.Put("b", "2");
          db.Put("a", "3");
          Require(db.txn.Rollback());
        }) == Types{kChange, kChange, kChange, kCompensation, kCompensation, kEnd});
  CHECK(db.Get("a") == "1");
  CHECK(db.log.reserved() == 0);
  CHECK(db.engine_log->Snapshot().transactions.empty());
}

TEST_CASE("A change carries the state before it") {
  Db db;
  db.PutAlone("a", "1");
  db.Begin();
  db.Put("a", "22");
  LogRecord record;
  const MemoryLog::Record last = db.log.Records().back();
  Require(DecodeLogRecord(last.bytes, &record));
  CHECK(record.change.before == RecordState::kValue);
  CHECK(record.change.before_bytes == "1");
  CHECK(record.change.now_bytes == "22");
  CHECK(record.change.tree == db.tree.id);
  CHECK(db.LeafLsn("a") == Raw(last.lsn));
  Require(db.txn.Commit());
}

TEST_CASE("Page LSNs rise with every change") {
  Db db;
  uint64_t lsn = db.LeafLsn("a");
  CHECK(lsn > 0);
  for (int i = 0; i < 5; ++i) {
    db.Begin();
    db.Put("a", std::to_string(i));
    CHECK(db.LeafLsn("a") > std::exchange(lsn, db.LeafLsn("a")));
    Require(i % 2 == 0 ? db.txn.Commit() : db.txn.Rollback());
    CHECK(db.LeafLsn("a") >= std::exchange(lsn, db.LeafLsn("a")));
  }
}

// A split logged the whole parent and the half that stays, too: half of the log of random inserts.
TEST_CASE(
    "A split logs an image of the new page alone, if images are not wanted against torn pages") {
  const bool wanted = GENERATE(false, true);
  EngineLogOptions options{.page_size = LoggedTrees::kPageSize};
  if (wanted) options.rely_on_images = [](bool) {};
  Db db(options);
  for (int i = 0; i < 200; ++i)
    db.PutAlone(std::to_string(1000 + i * 7 % 200), std::string(100, 'v'));
  int splits = 0;
  LogRecord record;
  for (const MemoryLog::Record& logged : db.log.Records()) {
    Require(DecodeLogRecord(logged.bytes, &record));
    if (record.header.type != LogRecordType::kSplit) continue;
    ++splits;
    CHECK(record.images.size() == 1);
    CHECK(logged.bytes.size() < LoggedTrees::kPageSize);
  }
  CHECK((splits > 2) == !wanted);
}

TEST_CASE("A split is one record for all its pages and outlives the rollback that caused it") {
  Db db;
  db.Begin();
  const Types types = TypesOf(db, [&] {
    for (int i = 0; i < 60; ++i) db.Put(std::to_string(1000 + i), std::string(100, 'v'));
    Require(db.txn.Rollback());
  });
  CHECK(std::count(types.begin(), types.end(), kImages) >= 1);
  CHECK(std::count(types.begin(), types.end(), kCompensation) == 60);
  CHECK(db.Pages().size() >= 3);
}

TEST_CASE("A large value logs each page's allocation before its image") {
  Db db;
  CHECK(TypesOf(db, [&] { db.PutAlone("a", kLarge); }) ==
        Types{kAllocation, kImages, kChange, kCommit});
  // The next value supersedes the chain. No snapshot reads it, so it is freed at once.
  CHECK(TypesOf(db, [&] { db.PutAlone("a", "small"); }) == Types{kChange, kCommit, kFree});
  CHECK(db.engine_log->Snapshot().chains.empty());
}

TEST_CASE("A chain that its own transaction replaces goes at once, one rolled back at its end") {
  Db db;
  CHECK(TypesOf(db,
                [&] {
                  db.Begin();
                  db.Put("a", kLarge);
                  db.Put("a", kLarge);
                  Require(db.txn.Rollback());
                }) == Types{kAllocation, kImages, kChange, kAllocation, kImages, kChange, kFree,
                            kCompensation, kFree, kEnd});
  CHECK(db.log.reserved() == 0);
  Require(db.engine_log->FlushAll());
  CHECK(db.Pages().size() == 1);
}

TEST_CASE("A chain of several list pages goes from its end, in records of bounded size") {
  Db db;
  db.PutAlone("a", kHuge);
  CHECK(db.Get("a") == kHuge);
  const Types types = TypesOf(db, [&] { db.PutAlone("a", "small"); });
  CHECK(types == Types{kChange, kCommit, kImages, kFree});
  Require(db.engine_log->FlushAll());
  CHECK(db.Pages().size() == 1);
  for (uint64_t page = 1; page < db.store.page_id_limit(); ++page) {
    REQUIRE_FALSE(db.store.IsAllocated(PageId{page}));
  }
}

TEST_CASE("A superseded chain waits for its readers, and a checkpoint knows it") {
  Db db;
  db.PutAlone("a", kLarge);
  TransactionImpl reader(db.context);
  Require(reader.Begin());
  std::string value;
  Require(reader.Get(db.tree, "a", &value));
  db.Begin();
  db.Put("a", "small");
  CHECK(db.engine_log->Snapshot().chains.empty());  // not committed: undo needs it
  Require(db.txn.Commit());
  REQUIRE(db.engine_log->Snapshot().chains.size() == 1);
  CHECK(db.engine_log->Snapshot().chains[0].size == kLarge.size());
  Require(reader.Rollback());
  db.versions.CollectAll();
  CHECK(db.engine_log->Snapshot().chains.empty());
}

TEST_CASE("A chain whose replacement is rolled back is not superseded") {
  Db db;
  db.PutAlone("a", kLarge);
  db.Begin();
  db.Put("a", "small");
  Require(db.txn.Rollback());
  CHECK(db.engine_log->Snapshot().chains.empty());
  CHECK(db.Get("a") == kLarge);
}

TEST_CASE("A snapshot names the running transactions, oldest first, as of its LSN") {
  Db db;
  TransactionImpl other(db.context);
  Require(other.Begin());
  Require(other.Put(db.tree, "x", "1"));
  db.Begin();
  db.Put("a", "1");
  db.Put("b", "1");
  const CheckpointSnapshot snapshot = db.engine_log->Snapshot();
  REQUIRE(snapshot.transactions.size() == 2);
  CHECK(Raw(snapshot.transactions[0].first) < Raw(snapshot.transactions[1].first));
  CHECK(snapshot.transactions[1].last == db.log.Records().back().lsn);
  CHECK(snapshot.as_of == db.log.next());
  CHECK(snapshot.redo_from == snapshot.as_of);
  Require(other.Commit());
  Require(db.txn.Rollback());
}

TEST_CASE("A checkpoint that does not fit one record goes on in parts") {
  Db db;
  for (uint64_t i = 0; i < 10'000; ++i) db.engine_log->AddPendingChain({PageId{1000 + i}, 1});
  const size_t before = db.log.Records().size();
  const auto snapshot = db.engine_log->LogCheckpoint([] { return TxnId{9}; });
  REQUIRE(snapshot.ok());
  const std::vector<MemoryLog::Record> records = db.log.Records();
  size_t chains = 0;
  LogRecord record;
  for (size_t i = before; i < records.size(); ++i) {
    Require(DecodeLogRecord(records[i].bytes, &record));
    CHECK(record.checkpoint.as_of == snapshot->as_of);
    CHECK(record.checkpoint.part == i - before);
    CHECK(record.checkpoint.parts == records.size() - before);
    chains += record.chains.size();
  }
  CHECK(records.size() - before > 1);
  CHECK(chains == 10'000);
  CHECK(db.log.reserved() == 0);
}

TEST_CASE("A freed page reaches the store only when its free is durable") {
  Db db({.wait_for_commits = false,
         .group_delay = 3600 * kNanosPerSecond,
         .page_size = LoggedTrees::kPageSize});
  db.PutAlone("a", kLarge);
  db.PutAlone("a", "small");
  CHECK(db.engine_log->deferred_frees() == 1);
  uint64_t allocated = 0;
  for (uint64_t page = 0; page < db.store.page_id_limit(); ++page) {
    allocated += db.store.IsAllocated(PageId{page});
  }
  CHECK(allocated == 2);
  Require(db.engine_log->FlushAll());
  CHECK(db.engine_log->deferred_frees() == 0);
  CHECK_FALSE(db.store.IsAllocated(PageId{1}));
}

TEST_CASE("A commit waits for its record, or has it made durable in time") {
  Db waits;
  waits.PutAlone("a", "1");
  CHECK(Raw(waits.log.durable()) > Raw(waits.log.Records().back().lsn));

  Db group({.wait_for_commits = false,
            .group_delay = kNanosPerMilli,
            .page_size = LoggedTrees::kPageSize});
  group.PutAlone("a", "1");
  const Lsn last = group.log.Records().back().lsn;
  for (Backoff backoff(ThreadRuntime()); Raw(group.log.durable()) <= Raw(last);) backoff.Pause();
}

// The order of commits is fixed under a latch on which all committers spin: no committer may wait
// for the device there.
TEST_CASE("A commit that finds the log's buffer full waits where nobody waits for it") {
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kSerializable}) {
    Db db;
    db.PutAlone("a", "1");
    Require(db.txn.Begin({.isolation = isolation}));
    CHECK(db.Get("a") == "1");
    db.Put("a", "2");
    db.log.refused_commits = 3;
    Require(db.txn.Commit());
    CHECK(db.log.refused_commits == 0);
    CHECK(db.Get("a") == "2");
    CHECK(db.log.reserved() == 0);
    CHECK(db.engine_log->Snapshot().transactions.empty());
  }
}

TEST_CASE("A full log fails the write and nothing else, and the rollback has its space") {
  Db db;
  db.PutAlone("a", "1");
  db.Begin();
  db.Put("a", "2");
  db.log.limit = db.log.reserved();
  absl::Status status;
  int writes = 0;
  for (; status.ok(); ++writes) status = db.txn.Put(db.tree, std::to_string(writes), "v");
  CHECK(absl::IsResourceExhausted(status));
  CHECK(absl::IsResourceExhausted(db.txn.Put(db.tree, "large", kLarge)));
  Require(db.txn.Rollback());
  CHECK(db.Get("a") == "1");
  CHECK(db.log.reserved() == 0);
  db.log.limit = UINT64_MAX;
  db.PutAlone("a", "3");
  CHECK(db.Get("a") == "3");
}

TEST_CASE("A commit whose flush fails says that its outcome is unknown, then all is read-only") {
  Db db;
  db.PutAlone("a", "1");
  db.Begin();
  db.Put("a", "2");
  db.log.fail_flushes = true;
  const absl::Status commit = db.txn.Commit();
  CHECK(commit.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(commit.message()), Catch::Contains("outcome of the commit is unknown"));

  db.Begin();
  const absl::Status write = db.txn.Put(db.tree, "b", "1");
  CHECK(write.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(write.message()),
             Catch::StartsWith("read-only:") && Catch::Contains("reopen"));
  Require(db.txn.Commit());  // it wrote nothing
  CHECK(db.Get("a") == "2");
}

TEST_CASE("A transaction that runs while the log fails is rolled back in memory") {
  Db db;
  db.PutAlone("a", kLarge);
  db.Begin();
  db.Put("a", "2");
  db.Put("b", kLarge);
  TransactionImpl other(db.context);
  Require(other.Begin());
  Require(other.Put(db.tree, "x", "1"));
  db.log.fail_flushes = true;
  CHECK_FALSE(other.Commit().ok());
  CHECK(db.txn.Commit().code() == absl::StatusCode::kUnavailable);
  CHECK(db.Get("a") == kLarge);
  CHECK_FALSE(db.Get("b").has_value());
  CHECK(db.engine_log->Snapshot().transactions.empty());
}

TEST_CASE("A page that changed after the log failed never counts as durable") {
  Db db;
  db.PutAlone("a", "1");
  db.Begin();
  db.Put("a", "2");
  db.log.fail_flushes = true;
  CHECK_FALSE(db.engine_log->FlushAll().ok());
  Require(db.txn.Rollback());
  CHECK(db.LeafLsn("a") >= Raw(db.log.durable()));
  CHECK_FALSE(db.pool->WriteAllDirty().ok());
}

TEST_CASE("Actors that write at once leave one chain of records each") {
  Db db;
  constexpr int kActors = 4, kTransactions = 200;
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("writer", [&db, a] {
      TransactionImpl txn(db.context);
      for (int i = 0; i < kTransactions; ++i) {
        if (!txn.Begin().ok()) std::abort();
        for (int k = 0; k < 3; ++k) {
          const std::string key = std::to_string(a) + "/" + std::to_string((i * 7 + k) % 90);
          if (!txn.Put(db.tree, key, std::string(50 + i % 50, 'v')).ok()) std::abort();
        }
        if (!(i % 5 == 0 ? txn.Rollback() : txn.Commit()).ok()) std::abort();
      }
    }));
  }
  for (auto& actor : actors) actor->Join();
  std::map<uint64_t, Lsn> last;
  uint64_t commits = 0;
  LogRecord record;
  for (const MemoryLog::Record& entry : db.log.Records()) {
    Require(DecodeLogRecord(entry.bytes, &record));
    const uint64_t txn = Raw(record.header.txn);
    if (txn == 0) continue;
    REQUIRE(record.header.previous == last[txn]);
    last[txn] = entry.lsn;
    commits += record.header.type == kCommit;
  }
  CHECK(commits == kActors * kTransactions * 4 / 5);
  CHECK(db.log.reserved() == 0);
  CHECK(db.engine_log->Snapshot().transactions.empty());
}

}  // namespace
}  // namespace latchkey::engine_log_test
