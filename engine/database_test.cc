#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/open_store.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/runtime/runtime.h"

namespace latchkey::database_test {
namespace {

std::map<std::string, std::string> Contents(Database& db, Tree tree, KeyRange range = {},
                                            bool forward = true) {
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree, std::move(range));
  std::map<std::string, std::string> all;
  for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid();
       forward ? cursor.Next() : cursor.Prev()) {
    CHECK(all.emplace(cursor.key(), cursor.value()).second);
  }
  REQUIRE_OK(cursor.status());
  return all;
}

TEST_CASE("What is put is got, in every size of value") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  Rng rng(7);
  std::map<std::string, std::string> model;
  for (const size_t size :
       {0u, 1u, 100u, 900u, 1100u, 4000u, 4048u, 4049u, 5000u, 100'000u, 3'000'000u}) {
    std::string value(size, '\0');
    for (char& c : value) c = static_cast<char>(rng.Next());
    const std::string key = "size " + std::to_string(size);
    REQUIRE_OK(db->Put(tree, key, value));
    model[key] = value;
  }
  std::string value;
  for (const auto& [key, expected] : model) {
    REQUIRE_OK(db->Get(tree, key, &value));
    CHECK((value == expected));
  }
  CHECK((Contents(*db, tree) == model));
  CHECK((Contents(*db, tree, {}, /*forward=*/false) == model));
  REQUIRE_OK(db->Verify());
  for (const auto& [key, unused] : model) REQUIRE_OK(db->Put(tree, key, "short"));
  for (const auto& [key, unused] : model) REQUIRE_OK(db->Delete(tree, key));
  CHECK(absl::IsNotFound(db->Get(tree, "size 1", &value)));
  CHECK(absl::IsNotFound(db->Delete(tree, "size 1")));
  REQUIRE_OK(db->Verify());  // no overflow page has leaked
}

TEST_CASE("A snapshot does not move while others insert, overwrite and delete") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 300; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "old"));
  REQUIRE_OK(db->Put(tree, "large", std::string(20'000, 'o')));
  Transaction reader = db->Begin();
  std::string value;
  REQUIRE_OK(reader.Get(tree, "0", &value));
  for (int i = 0; i < 300; i += 3) REQUIRE_OK(db->Put(tree, std::to_string(i), "new"));
  for (int i = 1; i < 300; i += 3) REQUIRE_OK(db->Delete(tree, std::to_string(i)));
  for (int i = 300; i < 400; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "born"));
  REQUIRE_OK(db->Put(tree, "large", std::string(30'000, 'n')));

  int seen = 0;
  Cursor cursor = reader.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    ++seen;
    CHECK((cursor.value() == (cursor.key() == "large" ? std::string(20'000, 'o') : "old")));
  }
  CHECK(seen == 301);
  for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) --seen;
  CHECK(seen == 0);
  REQUIRE_OK(reader.Get(tree, "1", &value));
  CHECK(value == "old");
  CHECK(absl::IsNotFound(reader.Get(tree, "350", &value)));
  REQUIRE_OK(reader.Commit());
  CHECK(Contents(*db, tree).size() == 301);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Keys that were announced are read as of the snapshot, whatever became of their leaves") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  const auto key_of = [](int i) { return std::to_string(10'000 + i); };
  constexpr int kKeys = 400;
  for (int i = 0; i < kKeys; i += 2) REQUIRE_OK(db->Put(tree, key_of(i), "before"));

  Transaction txn = db->Begin();
  std::string value;
  REQUIRE_OK(txn.Get(tree, key_of(0), &value));
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back(key_of(i));
  std::vector<std::pair<Tree, std::string_view>> announced;
  for (const std::string& key : keys) announced.emplace_back(tree, key);
  txn.Prefetch(announced);
  // Leaves split, are merged, lose and change records, in the middle of their being read.
  for (int i = 0; i < 200; ++i) {
    if (i == 20) {
      for (int k = 1; k < kKeys; k += 2)
        REQUIRE_OK(db->Put(tree, key_of(k), std::string(900, 'n')));
    }
    if (i == 60) {
      for (int k = 0; k < kKeys; ++k) db->Delete(tree, key_of(k)).IgnoreError();
    }
    if (i == 100) {
      for (int k = 0; k < kKeys; ++k) REQUIRE_OK(db->Put(tree, key_of(k), "after"));
    }
    const absl::Status found = txn.Get(tree, keys[static_cast<size_t>(i)], &value);
    REQUIRE(found.ok() == (i % 2 == 0));
    if (found.ok()) REQUIRE(value == "before");
  }
  REQUIRE_OK(txn.Commit());
}

TEST_CASE("Of two transactions that write one key the later one is aborted and can run again") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "0"));
  Transaction first = db->Begin(), second = db->Begin();
  std::string value;
  REQUIRE_OK(first.Get(tree, "k", &value));
  REQUIRE_OK(second.Get(tree, "k", &value));
  REQUIRE_OK(first.Put(tree, "k", "1"));
  REQUIRE_OK(first.Commit());
  CHECK(absl::IsAborted(second.Put(tree, "k", "2")));
  CHECK(absl::IsFailedPrecondition(second.Get(tree, "k", &value)));
  CHECK(absl::IsFailedPrecondition(second.Commit()));
  REQUIRE_OK(db->Get(tree, "k", &value));
  CHECK(value == "1");
}

TEST_CASE("GetForUpdate as the first call reads the newest value and keeps others away") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "0"));
  std::vector<std::unique_ptr<Actor>> actors;
  std::atomic<bool> failed{false};
  for (int a = 0; a < 3; ++a) {
    actors.push_back(ThreadRuntime().Spawn("adder", [&] {
      for (int i = 0; i < 500; ++i) {
        Transaction txn = db->Begin();
        std::string value;
        if (!txn.GetForUpdate(tree, "k", &value).ok() ||
            !txn.Put(tree, "k", std::to_string(std::stoi(value) + 1)).ok() || !txn.Commit().ok()) {
          failed = true;
        }
      }
    }));
  }
  actors.clear();
  CHECK_FALSE(failed);
  std::string value;
  REQUIRE_OK(db->Get(tree, "k", &value));
  CHECK(value == "1500");
}

TEST_CASE("Rolled-back transactions leave nothing behind, also not pages") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 200; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), std::string(50, 'a')));
  REQUIRE_OK(db->Put(tree, "large", std::string(9'000, 'a')));
  const auto before = Contents(*db, tree);
  {
    Transaction txn = db->Begin();
    for (int i = 0; i < 400; ++i) {
      REQUIRE_OK(txn.Put(tree, std::to_string(i), std::string(1 + i % 900, 'b')));
    }
    for (int i = 0; i < 100; ++i) REQUIRE_OK(txn.Delete(tree, std::to_string(i)));
    REQUIRE_OK(txn.Put(tree, "large", std::string(20'000, 'b')));
    REQUIRE_OK(txn.Put(tree, "large", std::string(30'000, 'c')));
    REQUIRE_OK(txn.Put(tree, "another", std::string(30'000, 'c')));
    REQUIRE_OK(txn.Delete(tree, "another"));
    REQUIRE_OK(txn.Rollback());
    CHECK(absl::IsFailedPrecondition(txn.Rollback()));
  }
  CHECK((Contents(*db, tree) == before));
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A write batch is applied whole, and deleting a missing key in it does nothing") {
  auto db = OpenInMemory();
  const Tree a = TreeOrFail(*db, "a"), b = TreeOrFail(*db, "b");
  WriteBatch batch;
  batch.Put(a, "k", "1");
  batch.Put(b, "k", "2");
  batch.Delete(b, "missing");
  batch.Delete(a, "k");
  REQUIRE_OK(db->Write(batch));
  CHECK(Contents(*db, a).empty());
  CHECK(Contents(*db, b).size() == 1);
}

TEST_CASE("Insert refuses a key that is there and takes one that was deleted") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin();
  REQUIRE_OK(txn.Insert(tree, "k", "1"));
  CHECK(absl::IsAlreadyExists(txn.Insert(tree, "k", "2")));
  REQUIRE_OK(txn.Delete(tree, "k"));
  REQUIRE_OK(txn.Insert(tree, "k", "3"));
  REQUIRE_OK(txn.Commit());
  std::string value;
  REQUIRE_OK(db->Get(tree, "k", &value));
  CHECK(value == "3");
}

// Random transactions against an ordered map: what a cursor and a get show inside and outside them.
void RunModel(Database& db, Tree tree, std::map<std::string, std::string>& model, Rng& rng,
              int transactions) {
  const auto random_key = [&] { return std::to_string(rng.Below(2'000)); };
  for (int t = 0; t < transactions; ++t) {
    Transaction txn = db.Begin();
    std::map<std::string, std::string> own = model;
    for (uint64_t i = rng.Below(20); i > 0; --i) {
      const std::string key = random_key();
      switch (rng.Below(9)) {
        case 8: {
          // Announced, then read in that order, some left out, some changed in between.
          std::vector<std::string> keys;
          for (uint64_t n = rng.Below(60); n > 0; --n) keys.push_back(random_key());
          std::vector<std::pair<Tree, std::string_view>> announced;
          for (const std::string& announce : keys) announced.emplace_back(tree, announce);
          txn.Prefetch(announced);
          for (const std::string& announce : keys) {
            if (rng.Below(4) == 0) continue;
            std::string value;
            const bool found = txn.Get(tree, announce, &value).ok();
            const auto it = own.find(announce);
            REQUIRE(found == (it != own.end()));
            if (found) REQUIRE((value == it->second));
            if (rng.Below(4) != 0) continue;
            REQUIRE_OK(txn.Put(tree, announce, key));
            own[announce] = key;
          }
          break;
        }
        case 0:
          CHECK(txn.Delete(tree, key).ok() == (own.erase(key) > 0));
          break;
        case 1: {
          const std::string value(rng.Below(20) == 0 ? 6'000 : rng.Below(300), 'v');
          REQUIRE_OK(txn.Put(tree, key, value));
          own[key] = value;
          break;
        }
        case 2: {
          const bool inserted = txn.Insert(tree, key, "inserted").ok();
          CHECK(inserted == own.emplace(key, "inserted").second);
          break;
        }
        case 3: {
          KeyRange range{key, random_key()};
          if (*range.to < *range.from) std::swap(range.from, range.to);
          auto it = own.lower_bound(*range.from);
          const auto end = own.lower_bound(*range.to);
          Cursor cursor = txn.NewCursor(tree, range);
          for (cursor.SeekToFirst(); cursor.Valid() && it != end; cursor.Next(), ++it) {
            CHECK((cursor.key() == it->first && cursor.value() == it->second));
          }
          CHECK((!cursor.Valid() && it == end));
          break;
        }
        case 4: {
          Cursor cursor = txn.NewCursor(tree);
          cursor.SeekForPrev(key);
          auto it = own.upper_bound(key);
          for (int steps = 0; steps < 10 && it != own.begin(); ++steps, cursor.Prev()) {
            --it;
            REQUIRE(cursor.Valid());
            CHECK((cursor.key() == it->first && cursor.value() == it->second));
          }
          if (it == own.begin() && cursor.Valid()) CHECK(cursor.key() == it->first);
          break;
        }
        case 5: {
          // Changing the tree under one's own cursor: it goes on with what is there then.
          Cursor cursor = txn.NewCursor(tree);
          cursor.Seek(key);
          if (!cursor.Valid()) break;
          const std::string at(cursor.key());
          REQUIRE_OK(txn.Delete(tree, at));
          own.erase(at);
          cursor.Next();
          const auto it = own.upper_bound(at);
          CHECK(cursor.Valid() == (it != own.end()));
          if (cursor.Valid()) CHECK(cursor.key() == it->first);
          break;
        }
        default: {
          std::string value;
          const bool found = txn.Get(tree, key, &value).ok();
          const auto it = own.find(key);
          CHECK(found == (it != own.end()));
          if (found) CHECK((value == it->second));
        }
      }
    }
    if (rng.Below(3) == 0) {
      REQUIRE_OK(txn.Rollback());
    } else {
      REQUIRE_OK(txn.Commit());
      model = std::move(own);
    }
  }
  CHECK((Contents(db, tree) == model));
  CHECK((Contents(db, tree, {}, /*forward=*/false) == model));
  REQUIRE_OK(db.Verify());
}

TEST_CASE("Random transactions agree with an ordered map in a cache that holds everything") {
  Options options;
  options.page_size = GENERATE(4096u, 32768u);
  auto db = OpenInMemory(options);
  std::map<std::string, std::string> model;
  Rng rng(42);
  RunModel(*db, TreeOrFail(*db, "t"), model, rng,
           kThreadSanitizer ? 200
           : kSanitizer     ? 500
                            : 1'000);
}

TEST_CASE("Random transactions agree with an ordered map through small caches and reopenings") {
  TempDir directory;
  const std::string path = directory.File("db");
  std::map<std::string, std::string> model;
  Rng rng(43);
  const std::vector<std::string> layouts = {"overwrite", "lfs", "wolf", "hylog"};
  for (int round = 0; round < 8; ++round) {
    Options options;
    options.cache_bytes = 16 << 20;
    options.techniques.layout = layouts[static_cast<size_t>(round) % layouts.size()];
    options.techniques.replacement = round % 2 == 0 ? "2q" : "clock";
    auto db = OpenOrFail(path, options);
    const Tree tree = TreeOrFail(*db, "t");
    RunModel(*db, tree, model, rng, kThreadSanitizer ? 30 : kSanitizer ? 75 : 150);
    REQUIRE_OK(db->Close());
  }
}

TEST_CASE("Transfers keep the bank's total in every snapshot", "[concurrency]") {
  Options options;
  options.techniques.cleaners = 1;
  auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "accounts");
  constexpr int kAccounts = 60, kTransfers = 600;
  for (int i = 0; i < kAccounts; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "100"));
  std::atomic<bool> wrong{false};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    actors.push_back(ThreadRuntime().Spawn("teller", [&, seed] {
      Rng rng(seed);
      for (int done = 0; done < kTransfers;) {
        Transaction txn = db->Begin();
        const std::string from = std::to_string(rng.Below(kAccounts));
        const std::string to = std::to_string(rng.Below(kAccounts));
        std::string a, b;
        if (from == to || !txn.Get(tree, from, &a).ok() || !txn.Get(tree, to, &b).ok()) continue;
        if (!txn.Put(tree, from, std::to_string(std::stoi(a) - 1)).ok()) continue;
        if (!txn.Put(tree, to, std::to_string(std::stoi(b) + 1)).ok()) continue;
        if (rng.Below(10) == 0) continue;  // rolled back by its destructor
        if (txn.Commit().ok()) ++done;
      }
    }));
  }
  actors.push_back(ThreadRuntime().Spawn("auditor", [&] {
    for (int i = 0; i < 200; ++i) {
      Transaction txn = db->Begin();
      Cursor cursor = txn.NewCursor(tree);
      int total = 0;
      if (i % 2 == 0) {
        for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
          total += std::stoi(std::string(cursor.value()));
        }
      } else {
        for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) {
          total += std::stoi(std::string(cursor.value()));
        }
      }
      if (total != kAccounts * 100) wrong = true;
    }
  }));
  actors.clear();
  CHECK_FALSE(wrong);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Concurrent inserts and deletes with evictions leave a sound database", "[concurrency]") {
  Options options;
  options.cache_bytes = 12 << 20;
  options.techniques.layout = GENERATE("overwrite", "hylog");
  options.techniques.cleaners = 2;
  auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "t");
  std::atomic<bool> wrong{false};
  std::vector<std::map<std::string, std::string>> models(3);
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t a = 0; a < 3; ++a) {
    actors.push_back(ThreadRuntime().Spawn("worker", [&, a] {
      Rng rng(a);
      for (int i = 0; i < 4'000; ++i) {
        const std::string key = std::to_string(rng.Below(4'000)) + "-" + std::to_string(a);
        if (rng.Below(4) == 0) {
          if (db->Delete(tree, key).ok() != (models[a].erase(key) > 0)) wrong = true;
        } else {
          const std::string value(rng.Below(900), static_cast<char>('a' + a));
          if (!db->Put(tree, key, value).ok()) wrong = true;
          models[a][key] = value;
        }
      }
    }));
  }
  actors.clear();
  CHECK_FALSE(wrong);
  std::map<std::string, std::string> all;
  for (const auto& model : models) all.insert(model.begin(), model.end());
  CHECK((Contents(*db, tree) == all));
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Trees are created, listed, dropped and found again after a reopening") {
  TempDir directory;
  const std::string path = directory.File("db");
  {
    auto db = OpenOrFail(path, {});
    for (const char* name : {"b", "a", "c"}) {
      REQUIRE_OK(db->Put(TreeOrFail(*db, name), "name", name));
    }
    const Tree dropped = TreeOrFail(*db, "b");
    for (int i = 0; i < 1000; ++i) {
      REQUIRE_OK(db->Put(dropped, std::to_string(i), std::string(i % 50 == 0 ? 9000 : 50, 'x')));
    }
    REQUIRE_OK(db->DropTree("b"));
    CHECK(absl::IsNotFound(db->DropTree("b")));
    CHECK(absl::IsNotFound(db->OpenTree("b", false).status()));
    REQUIRE_OK(db->Verify());
  }
  auto db = OpenOrFail(path, {});
  CHECK(db->ListTrees() == std::vector<std::string>{"a", "c"});
  std::string value;
  REQUIRE_OK(db->Get(TreeOrFail(*db, "c"), "name", &value));
  CHECK(value == "c");
}

TEST_CASE("The cache grows and shrinks while a database is used") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 5'000; ++i)
    REQUIRE_OK(db->Put(tree, std::to_string(i), std::string(500, 'x')));
  const uint64_t frames = db->GetStatistics().frames;
  REQUIRE_OK(db->SetCacheBytes(20 << 20));
  CHECK(db->GetStatistics().frames < frames);
  CHECK(Contents(*db, tree).size() == 5'000);
  REQUIRE_OK(db->SetCacheBytes(64 << 20));
  CHECK(Contents(*db, tree).size() == 5'000);
  const absl::Status refused = db->SetCacheBytes(1000);
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("give "));
}

TEST_CASE("Bad input is refused with the value, the range and the remedy") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  const std::string long_key(1025, 'k');
  std::string value;
  for (const absl::Status& status :
       {db->Put(tree, long_key, ""), db->Get(tree, long_key, &value), db->Delete(tree, long_key)}) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("1025") && Catch::Contains("1024"));
  }
  CHECK(absl::IsInvalidArgument(db->Put(Tree(), "k", "v")));
  CHECK(absl::IsInvalidArgument(db->OpenTree("").status()));
  CHECK(absl::IsInvalidArgument(db->OpenTree(std::string(256, 'n')).status()));
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(Tree());
  cursor.SeekToFirst();
  CHECK(absl::IsInvalidArgument(cursor.status()));

  const auto refused = [](auto change) {
    Options options;
    options.in_memory_device = true;
    change(options);
    return Database::Open("x", options).status();
  };
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.page_size = 5000; })));
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.cache_bytes = 10; })));
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.techniques.layout = "lsf"; })));
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.techniques.replacement = "mru"; })));
  CHECK(
      absl::IsInvalidArgument(refused([](Options& o) { o.techniques.space_utilization = 0.99; })));
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.techniques.cleaner = "fixed:0"; })));
  CHECK(absl::IsInvalidArgument(refused([](Options& o) { o.techniques.cleaners = 1000; })));
  CHECK(absl::IsInvalidArgument(
      refused([](Options& o) { o.techniques.synchronization = "regions:100000000"; })));
  const absl::Status without_log = refused([](Options& o) {
    o.durability = Durability::kNone;
    o.torn_write_protection = TornWriteProtection::kImages;
  });
  CHECK(absl::IsInvalidArgument(without_log));
  CHECK_THAT(std::string(without_log.message()), Catch::Contains("durability group or commit"));
  CHECK_THAT(std::string(refused([](Options& o) { o.techniques.layout = "lsf"; }).message()),
             Catch::Contains("lfs") && Catch::Contains("hylog"));
}

std::vector<std::string> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST_CASE("By default a checkpoint comes after a quarter of the cache in log, within bounds") {
  Options options;
  const auto with_cache = [&](uint64_t bytes) {
    options.cache_bytes = bytes;
    return CheckpointLogBytes(options);
  };
  CHECK(with_cache(1 << 20) == 256u << 20);
  CHECK(with_cache(2ull << 30) == 512u << 20);
  CHECK(with_cache(64ull << 30) == 1u << 30);
  options.checkpoint_log_bytes = 5 << 20;
  CHECK(with_cache(2ull << 30) == 5u << 20);
}

TEST_CASE("Files that cannot be opened are refused by name and left as they are") {
  TempDir directory;
  const std::string path = directory.File("db");
  Options must_exist;
  must_exist.create_if_missing = false;
  CHECK(absl::IsNotFound(Database::Open(path, must_exist).status()));
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(Database::Open(directory.File("no/such"), {}).ok());
  {
    auto db = OpenOrFail(path, {});
    REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
    const absl::Status locked = Database::Open(path, {}).status();
    CHECK(absl::IsFailedPrecondition(locked));
    CHECK_THAT(std::string(locked.message()), Catch::Contains("open"));
  }
  Options other_size;
  other_size.page_size = 8192;
  CHECK_FALSE(Database::Open(path, other_size).ok());
  Options must_be_new;
  must_be_new.error_if_exists = true;
  CHECK(absl::IsAlreadyExists(Database::Open(path, must_be_new).status()));

  const std::string foreign = directory.File("foreign");
  std::filesystem::create_directory(foreign);
  for (const size_t bytes : {100'000, 5}) {  // five were taken for an empty file, and written over
    const std::string text(bytes, 'x');
    std::ofstream(foreign + "/data.lk") << text;
    CHECK(absl::IsFailedPrecondition(Database::Open(foreign, {}).status()));
    std::ifstream file(foreign + "/data.lk");
    CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == text);
    CHECK(NamesIn(foreign) == std::vector<std::string>{"data.lk"});  // a map.lk was left there
  }
}

TEST_CASE("An open that is refused leaves no file behind") {
  TempDir directory;
  const std::string path = directory.File("db");
  Options impossible;
  impossible.page_size = 65536;
  impossible.techniques.segment_size = 65536;  // too small for eight such pages
  CHECK(absl::IsInvalidArgument(Database::Open(path, impossible).status()));
  CHECK_FALSE(std::filesystem::exists(path));
  Options unlogged;
  unlogged.durability = Durability::kNone;
  // Messages name the file by the name that it has got, not by that of its creation.
  CHECK_THAT(OpenOrFail(path, unlogged)->DeviceDescription(), Catch::Contains(path + "/data.lk,"));
  const std::vector<std::string> names = NamesIn(path);
  CHECK(names == std::vector<std::string>{"data.lk"});
  Options other_size;
  other_size.page_size = 8192;
  CHECK(absl::IsInvalidArgument(Database::Open(path, other_size).status()));
  CHECK(NamesIn(path) == names);
  auto db = OpenOrFail(path, {});
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  CHECK(NamesIn(path) == std::vector<std::string>{"data.lk", "log.lk", "map.lk"});

  // The files as a crash leaves them, but without the journal.
  const std::string crashed = directory.File("crashed");
  std::filesystem::create_directory(crashed);
  for (const char* name : {"/data.lk", "/log.lk"}) {
    std::filesystem::copy_file(path + name, crashed + name);
  }
  const absl::Status refused = Database::Open(crashed, {}).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("map.lk"));
  CHECK(NamesIn(crashed) == std::vector<std::string>{"data.lk", "log.lk"});
}

// Verify once called pages that only the snapshot needs leaked: DataLoss of a sound database.
TEST_CASE("A database beside a reader of an older state is sound, and loses no page") {
  TempDir directory;
  const auto db = OpenOrFail(directory.File("db"), {});
  const Tree tree = TreeOrFail(*db, "t");
  const std::string value(100'000, 'v');
  REQUIRE_OK(db->Put(tree, "deleted", value));
  REQUIRE_OK(db->Put(tree, "replaced", value));
  {
    Transaction reader = db->Begin({.read_only = true});
    std::string seen;
    REQUIRE_OK(reader.Get(tree, "deleted", &seen));
    REQUIRE_OK(db->Delete(tree, "deleted"));
    REQUIRE_OK(db->Put(tree, "replaced", "short"));
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(reader.Get(tree, "replaced", &seen));
    CHECK(seen == value);
  }
  REQUIRE_OK(db->Verify());
}

}  // namespace
}  // namespace latchkey::database_test
