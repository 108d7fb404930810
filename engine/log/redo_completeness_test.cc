// The strongest thing to say about what is logged: the records alone make every page again.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "engine/log/log_analysis.h"
#include "engine/log/redo.h"
#include "engine/log/testing/logged_trees.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::redo_completeness_test {
namespace {

using PageBytes = std::map<PageId, std::vector<std::byte>>;

// Pages that were made from nothing but a log, or from older pages and the log from `from` on.
struct Replica {
  explicit Replica(Log& log, Lsn from = Lsn{0}, const PageBytes& older = {})
      : store(ThreadRuntime(), LoggedTrees::kPageSize),
        pool(MakeTestPool(store, 2048)),
        analysis(from) {
    for (const auto& [page, bytes] : older) {
      REQUIRE(store.AdoptPage(page).ok());
      const PageWrite write{.id = page, .data = bytes.data()};
      size_t accepted = 0;
      REQUIRE((*store.NewWriter(1))->Submit({&write, 1}, &accepted).ok());
    }
    LogRecord record;
    REQUIRE(log.ForEach(Lsn{0},
                        [&](const LogRecordView& view) {
                          const absl::Status decoded = DecodeLogRecord(view.bytes, &record);
                          if (!decoded.ok()) FAIL(decoded.message());
                          analysis.Add(view.lsn, record);
                          return absl::OkStatus();
                        })
                .ok());
    Redo redo(*pool, analysis, log.end());
    const absl::Status done = redo.Run(log, from);
    if (!done.ok()) FAIL(done.message());
  }

  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  LogAnalysis analysis;
};

std::vector<std::byte> PageOf(BufferPool& pool, PageId page) {
  SharedGuard guard;
  const absl::Status fixed = pool.FixShared(pool.Here(), page, &guard);
  if (!fixed.ok()) FAIL("page " << Raw(page) << ": " << fixed.message());
  std::vector<std::byte> bytes(guard.data(), guard.data() + pool.page_size());
  // The layout's business, and the mark of locks, which are not logged.
  std::memset(bytes.data(), 0, offsetof(PageHeader, lsn));
  std::memset(bytes.data() + offsetof(PageHeader, write_sequence), 0, 4);
  const auto type = static_cast<PageType>(bytes[offsetof(PageHeader, page_type)]);
  if (type == PageType::kOverflow) return bytes;
  std::memset(bytes.data() + node_format::kLastWriter, 0, sizeof(uint64_t));
  const PageImage image = ImageOf(page, bytes);
  std::memset(bytes.data() + image.hole_begin, 0, image.hole_end - image.hole_begin);
  return bytes;
}

void CheckReplica(LoggedTrees& db) {
  Replica replica(db.log);
  const std::vector<PageId> pages = db.Pages();
  for (const PageId page : pages) {
    INFO("page " << Raw(page));
    REQUIRE(PageOf(*db.pool, page) == PageOf(*replica.pool, page));
  }
  // No page too many: what is allocated is used, waits for its readers, or is free by the log.
  REQUIRE(db.engine_log->FlushAll().ok());
  const std::set<PageId> used(pages.begin(), pages.end());
  const std::vector<PageId> free_pages = replica.analysis.FreePages();
  const std::set<PageId> freed(free_pages.begin(), free_pages.end());
  for (uint64_t page = 0; page < db.store.page_id_limit(); ++page) {
    INFO("page " << page);
    REQUIRE(db.store.IsAllocated(PageId{page}) == used.contains(PageId{page}));
    REQUIRE(used.contains(PageId{page}) != freed.contains(PageId{page}));
  }
}

std::string RandomKey(Rng& rng, uint64_t keys) {
  std::string key = std::to_string(rng.Below(keys));
  if (rng.Below(8) == 0) key = std::string(300, 'p') + key;
  return key;
}

std::string RandomValue(Rng& rng) {
  switch (rng.Below(12)) {
    case 0:
      return std::string(1000 + rng.Below(3000), static_cast<char>('a' + rng.Below(26)));
    case 1:
      return std::string(5000 + rng.Below(20'000), static_cast<char>('a' + rng.Below(26)));
    default:
      return std::string(rng.Below(120), static_cast<char>('a' + rng.Below(26)));
  }
}

// One transaction of random writes, committed or rolled back.
void RunRandom(LoggedTrees& db, TransactionImpl& txn, Rng& rng, uint64_t keys) {
  REQUIRE(txn.Begin().ok());
  for (uint64_t n = 1 + rng.Below(12); n > 0; --n) {
    auto it = db.trees.begin();
    std::advance(it, rng.Below(db.trees.size()));
    const std::string key = RandomKey(rng, keys);
    absl::Status done;
    std::string value;
    switch (rng.Below(6)) {
      case 0:
      case 1:
        done = txn.Delete(*it->second, key);
        break;
      case 2:
        done = txn.GetForUpdate(*it->second, key, &value);
        break;
      default:
        done = txn.Put(*it->second, key, RandomValue(rng));
    }
    if (!done.ok() && !absl::IsNotFound(done)) FAIL(done.message());
  }
  const absl::Status ended = rng.Below(4) == 0 ? txn.Rollback() : txn.Commit();
  if (!ended.ok()) FAIL(ended.message());
}

TEST_CASE("Redo of the log alone makes every page of a random history again") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 3 : 5));
  // Few keys: many rewrites and rollbacks of them. Many: splits, and merges at the end.
  const uint64_t keys = seed % 2 == 0 ? 60 : 3000;
  Rng rng(seed);
  LoggedTrees db;
  db.NewTree();
  db.NewTree();
  TransactionImpl txn(db.context);
  for (int i = 0; i < 1200; ++i) RunRandom(db, txn, rng, keys);
  db.versions.CollectAll();
  CheckReplica(db);

  // Everything goes: leaves empty and unite, roots collapse.
  for (auto& [id, tree] : db.trees) {
    for (uint64_t i = 0; i < keys; ++i) {
      REQUIRE(txn.Begin().ok());
      txn.Delete(*tree, std::to_string(i)).IgnoreError();
      REQUIRE(txn.Commit().ok());
    }
  }
  db.versions.CollectAll();
  CheckReplica(db);

  db.DropTree(*db.trees.begin()->second);
  CheckReplica(db);
  for (int i = 0; i < 100; ++i) RunRandom(db, txn, rng, keys);
  db.versions.CollectAll();
  CheckReplica(db);
}

TEST_CASE("Pages that were evicted meanwhile are made again as well") {
  Rng rng(9);
  LoggedTrees db({.page_size = LoggedTrees::kPageSize}, /*frames=*/32);
  db.NewTree();
  TransactionImpl txn(db.context);
  for (int i = 0; i < 600; ++i) RunRandom(db, txn, rng, 5000);
  db.versions.CollectAll();
  CheckReplica(db);
}

// The pages on the device once all that changed is written.
PageBytes WriteAll(LoggedTrees& db) {
  REQUIRE(db.pool->WriteAllDirty().ok());
  PageBytes pages;
  std::vector<std::byte> bytes(LoggedTrees::kPageSize);
  for (uint64_t page = 0; page < db.store.page_id_limit(); ++page) {
    if (!db.store.IsAllocated(PageId{page})) continue;
    if (db.store.ReadPage(PageId{page}, bytes.data()).ok()) pages[PageId{page}] = bytes;
  }
  return pages;
}

TEST_CASE(
    "Redo ends at the same pages, whichever of its states since the checkpoint each page had") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, 9));
  CAPTURE(seed);
  Rng rng(seed);
  LoggedTrees db;
  db.NewTree();
  TransactionImpl txn(db.context);
  const auto run = [&](int transactions) {
    for (int i = 0; i < transactions; ++i) RunRandom(db, txn, rng, 3000);
    db.versions.CollectAll();
  };
  run(150);
  REQUIRE(db.engine_log->FlushAll().ok());
  const PageBytes checkpoint = WriteAll(db);
  const Lsn from = db.log.next();
  std::vector<PageBytes> states = {checkpoint};
  for (int i = 0; i < 4; ++i) {
    run(100);
    states.push_back(WriteAll(db));
  }
  PageBytes found = checkpoint;
  for (const PageBytes& state : states) {
    for (const auto& [page, bytes] : state) {
      if (rng.Below(3) == 0) found[page] = bytes;
    }
  }
  Replica replica(db.log, from, found);
  for (const PageId page : db.Pages()) {
    INFO("page " << Raw(page));
    REQUIRE(PageOf(*db.pool, page) == PageOf(*replica.pool, page));
  }
}

// As RunRandom, beside others: conflicts end a transaction.
void RunRandomBeside(LoggedTrees& db, TransactionImpl& txn, Rng& rng, uint64_t keys) {
  if (!txn.Begin().ok()) std::abort();
  for (uint64_t n = 1 + rng.Below(6); n > 0 && txn.active(); --n) {
    auto it = db.trees.begin();
    std::advance(it, rng.Below(db.trees.size()));
    const std::string key = RandomKey(rng, keys);
    const absl::Status done = rng.Below(3) == 0 ? txn.Delete(*it->second, key)
                                                : txn.Put(*it->second, key, RandomValue(rng));
    if (!done.ok() && !absl::IsNotFound(done) && !absl::IsAborted(done)) std::abort();
  }
  if (!txn.active()) return;
  if (!(rng.Below(4) == 0 ? txn.Rollback() : txn.Commit()).ok()) std::abort();
}

TEST_CASE("The order of the records is the order of the changes, whoever makes them") {
  const uint64_t keys = GENERATE(40u, 2000u);
  LoggedTrees db;
  db.NewTree();
  db.NewTree();
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    actors.push_back(ThreadRuntime().Spawn("writer", [&db, seed, keys] {
      Rng rng(seed);
      TransactionImpl txn(db.context);
      for (int i = 0; i < 250; ++i) RunRandomBeside(db, txn, rng, keys);
    }));
  }
  for (auto& actor : actors) actor->Join();
  db.versions.CollectAll();
  CheckReplica(db);
}

}  // namespace
}  // namespace latchkey::redo_completeness_test
