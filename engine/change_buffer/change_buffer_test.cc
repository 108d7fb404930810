// The change buffer in use. A put waits there for its leaf: the tests show what such puts cost, that
// every reader sees them, and that a power failure leaves them.
#include <absl/strings/match.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"

namespace latchkey::change_buffer_test {
namespace {

constexpr uint64_t kRecords = kSanitizer ? 20'000 : 40'000;

Options BufferOptions(Durability durability, uint64_t buffer = 1 << 20) {
  Options options;
  options.cache_bytes = 4 << 20;
  options.durability = durability;
  options.techniques.change_buffer_bytes = buffer;
  return options;
}

std::string KeyOf(uint64_t n) { return fmt::format("{:08}", n); }
std::string ValueOf(uint64_t n, uint64_t version) {
  return fmt::format("{} of {}: {}", version, n, std::string(60 + n % 20, 'v'));
}

using Model = std::map<std::string, std::string>;

// Loads records in key order, so that their leaves are on the device afterwards.
void Load(Database& db, Tree tree, Model* model) {
  for (uint64_t n = 0; n < kRecords; n += 500) {
    WriteBatch batch;
    for (uint64_t i = n; i < n + 500; ++i) {
      batch.Put(tree, KeyOf(2 * i), ValueOf(2 * i, 0));
      (*model)[KeyOf(2 * i)] = ValueOf(2 * i, 0);
    }
    REQUIRE_OK(db.Write(batch));
  }
}

void PutAtRandom(Database& db, Tree tree, uint64_t puts, uint64_t version, Rng& rng, Model* model) {
  for (uint64_t i = 0; i < puts; ++i) {
    const uint64_t n = rng.Below(2 * kRecords);
    const absl::Status put = db.Put(tree, KeyOf(n), ValueOf(n, version));
    if (!put.ok()) FAIL(put.message());
    (*model)[KeyOf(n)] = ValueOf(n, version);
  }
}

void CheckHolds(Database& db, Tree tree, const Model& model) {
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree);
  cursor.SeekToFirst();
  for (const auto& [key, value] : model) {
    if (!cursor.Valid() || cursor.key() != key || cursor.value() != value) {
      FAIL("not as put: " << key << ": " << cursor.status().message());
    }
    cursor.Next();
  }
  CHECK(!cursor.Valid());
  REQUIRE_OK(cursor.status());
}

uint64_t Waited(Database& db) { return db.GetStatistics().change_buffer_puts; }

TEST_CASE("Puts wait for leaves in no frame, and every reader finds them") {
  const auto durability = GENERATE(Durability::kNone, Durability::kGroup);
  const std::string layout = GENERATE("overwrite", "lfs");
  CAPTURE(durability, layout);
  if (kSanitizer && (durability == Durability::kNone) == (layout == "lfs")) return;
  const TempDir dir;
  const std::string path = (dir.path() / "db").string();
  Options options = BufferOptions(durability);
  options.techniques.layout = layout;
  Model model;
  Rng rng(7);
  {
    auto db = OpenOrFail(path, options);
    const Tree tree = TreeOrFail(*db, "tree");
    Load(*db, tree, &model);
    PutAtRandom(*db, tree, 20'000, 1, rng, &model);
    CHECK(Waited(*db) > 1'000);
    for (int i = 0; i < 2'000; ++i) {
      const std::string key = KeyOf(rng.Below(2 * kRecords));
      std::string value;
      const absl::Status got = db->Get(tree, key, &value);
      REQUIRE(got.ok() == model.contains(key));
      if (got.ok()) REQUIRE(value == model[key]);
    }
    PutAtRandom(*db, tree, 5'000, 2, rng, &model);
    CheckHolds(*db, tree, model);
    PutAtRandom(*db, tree, 5'000, 3, rng, &model);
    CHECK(db->GetStatistics().memory_bytes <= options.cache_bytes);
    REQUIRE_OK(db->Close());
  }
  options.techniques.change_buffer_bytes = 0;
  auto db = OpenOrFail(path, options);
  CheckHolds(*db, TreeOrFail(*db, "tree"), model);
  REQUIRE_OK(db->Verify());
}

// What 20,000 puts at random cost after a load and `earlier` such puts.
struct CostOfPuts {
  uint64_t reads, demand_reads, change_reads, bytes_written;
};
CostOfPuts PutAfterLoad(uint64_t buffer, uint64_t earlier = 0) {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup, buffer));
  const Tree tree = TreeOrFail(*db, "tree");
  Model model;
  Load(*db, tree, &model);
  Rng rng(5);
  PutAtRandom(*db, tree, earlier, 1, rng, &model);
  const Statistics before = db->GetStatistics();
  PutAtRandom(*db, tree, 20'000, 1, rng, &model);
  const Statistics after = db->GetStatistics();
  REQUIRE_OK(db->Close());
  return {.reads = after.reads - before.reads,
          .demand_reads = after.demand_reads - before.demand_reads,
          .change_reads = after.change_reads - before.change_reads,
          .bytes_written = after.bytes_written - before.bytes_written};
}

TEST_CASE("Puts that wait save reads and writes of pages") {
  const CostOfPuts without = PutAfterLoad(0), with = PutAfterLoad(1 << 20);
  CAPTURE(without.reads, with.reads, without.bytes_written, with.bytes_written);
  CHECK(2 * with.reads < without.reads);
  CHECK(with.bytes_written < without.bytes_written);
}

// Each put into a full leaf waited for the read of that leaf alone: 3,152 such reads, and 1,496 of
// leaves that were brought in together.
TEST_CASE("Leaves that are about to split are read together, ahead of the puts that split them") {
  const CostOfPuts cost = PutAfterLoad(1 << 20);
  CHECK(cost.demand_reads < cost.change_reads);
}

// Leaves were known in a quarter of the buffer, too little for those in no frame: 2,619 such reads.
TEST_CASE("Once the leaves have split, few puts at random wait for the read of their leaf alone") {
  const CostOfPuts cost = PutAfterLoad(512 << 10, 40'000);
  CAPTURE(cost.demand_reads, cost.change_reads);
  CHECK(cost.change_reads > 500);  // the cache is too small for all leaves
  CHECK(cost.demand_reads < cost.change_reads / 3);
}

// A leaf that a put had filled left its frame, and the next put read it to split it: 845 such reads.
TEST_CASE("A put of a new key splits the leaf that it fills, as long as the leaf is in a frame") {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree");
  Rng rng(8);
  const auto put = [&](int count) {
    for (int i = 0; i < count; ++i) {
      REQUIRE_OK(db->Put(tree, fmt::format("{:016x}", rng.Next()), std::string(100, 'v')));
    }
  };
  put(60'000);
  const Statistics before = db->GetStatistics();
  put(20'000);
  const Statistics after = db->GetStatistics();
  CHECK(after.demand_reads - before.demand_reads < 400);
  REQUIRE_OK(db->Verify());
  REQUIRE_OK(db->Close());
}

// New pages that the puts make with such a change buffer; 0: without one.
uint64_t NewPages(uint64_t buffer, const std::function<void(Database&, Tree)>& put) {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup, buffer));
  put(*db, TreeOrFail(*db, "tree"));
  const uint64_t pages = db->GetStatistics().new_pages;
  REQUIRE_OK(db->Close());
  return pages;
}

TEST_CASE("Puts in key order leave full leaves behind, with a change buffer as without one") {
  const auto in_order = [](Database& db, Tree tree) {
    for (uint64_t n = 0; n < kRecords / 2; ++n) REQUIRE_OK(db.Put(tree, KeyOf(n), ValueOf(n, 0)));
  };
  CHECK(NewPages(1 << 20, in_order) == NewPages(0, in_order));
}

// Those that the buffer brought in were split in the middle: half as many pages again.
TEST_CASE(
    "Many streams of puts in key order leave full leaves behind, also if those are in no frame") {
  constexpr uint64_t kStreams = 1'500, kPutsOfEach = kSanitizer ? 90 : 160;
  uint64_t waited = 0;
  const auto streams = [&](Database& db, Tree tree) {
    for (uint64_t n = 0; n < kPutsOfEach; ++n) {
      for (uint64_t stream = 0; stream < kStreams; ++stream) {
        REQUIRE_OK(db.Put(tree, fmt::format("{:06}/{:06}", stream, n), ValueOf(n, 0)));
      }
    }
    waited = Waited(db);
  };
  const uint64_t without = NewPages(0, streams), with = NewPages(1 << 20, streams);
  CAPTURE(without, with);
  CHECK(waited > 1'000);
  CHECK(with < without + without / 10);
}

TEST_CASE("A snapshot does not see the puts after it, whether their leaves are in frames or not") {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree");
  Model model;
  Load(*db, tree, &model);
  Rng rng(3);
  PutAtRandom(*db, tree, 3'000, 1, rng, &model);
  Transaction old = db->Begin({.read_only = true});
  std::string value;
  REQUIRE_OK(old.Get(tree, KeyOf(0), &value));
  const Model before = model;
  PutAtRandom(*db, tree, 3'000, 2, rng, &model);
  for (uint64_t n = 0; n < 2 * kRecords; n += 37) {
    const auto expected = before.find(KeyOf(n));
    const absl::Status got = old.Get(tree, KeyOf(n), &value);
    REQUIRE(got.ok() == (expected != before.end()));
    if (got.ok()) REQUIRE(value == expected->second);
  }
  REQUIRE_OK(old.Commit());
  CheckHolds(*db, tree, model);
}

TEST_CASE("A put waits for the transaction that has locked its key") {
  Options options = BufferOptions(Durability::kGroup);
  options.lock_wait_ms = 50;
  auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "tree");
  Model model;
  Load(*db, tree, &model);
  Rng rng(11);
  PutAtRandom(*db, tree, 20'000, 1, rng, &model);  // leaves that have room
  Transaction holder = db->Begin();
  REQUIRE_OK(holder.Put(tree, KeyOf(10), "held"));
  // So many others that the leaf leaves its frame.
  for (int i = 0; i < 20'000; ++i) {
    std::string value;
    db->Get(tree, KeyOf(1000 + rng.Below(2 * kRecords - 1000)), &value).IgnoreError();
  }
  ThreadRuntime()
      .Spawn("other", [&] { CHECK(absl::IsAborted(db->Put(tree, KeyOf(10), "other"))); })
      ->Join();
  REQUIRE_OK(holder.Commit());
  std::string value;
  REQUIRE_OK(db->Get(tree, KeyOf(10), &value));
  CHECK(value == "held");
}

// Each put reserves log space, also for an end record. A put that waits writes no end record. It took
// that space all the same, and the space stayed reserved.
TEST_CASE("Puts that wait give back the log space that they do not use") {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree");
  Model model;
  Load(*db, tree, &model);
  Rng rng(19);
  const auto reserved = [&] {
    REQUIRE_OK(db->Sync());
    return DatabaseImpl::Of(*db).engine_log()->log().stats().reserved_bytes;
  };
  PutAtRandom(*db, tree, 2'000, 1, rng, &model);
  const uint64_t before = reserved(), waited = Waited(*db);
  PutAtRandom(*db, tree, 10'000, 2, rng, &model);
  const uint64_t puts = Waited(*db) - waited;
  CHECK(puts > 1'000);
  CHECK(reserved() < before + 10 * puts);
}

TEST_CASE("A hot backup has the puts that waited when it was made") {
  const TempDir dir;
  const Options options = BufferOptions(Durability::kGroup);
  Model model;
  {
    auto db = OpenOrFail((dir.path() / "db").string(), options);
    const Tree tree = TreeOrFail(*db, "tree");
    Load(*db, tree, &model);
    Rng rng(17);
    PutAtRandom(*db, tree, 5'000, 1, rng, &model);
    CHECK(Waited(*db) > 500);
    REQUIRE_OK(db->Backup((dir.path() / "backup").string(), {}).status());
    Model later;
    PutAtRandom(*db, tree, 2'000, 2, rng, &later);
  }
  REQUIRE_OK(RestoreBackup((dir.path() / "backup").string(), (dir.path() / "copy").string()));
  auto copy = OpenOrFail((dir.path() / "copy").string(), options);
  CheckHolds(*copy, TreeOrFail(*copy, "tree"), model);
  REQUIRE_OK(copy->Verify());
}

TEST_CASE("Waiting puts go with the range that is deleted, and with their tree") {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree"), gone = TreeOrFail(*db, "gone");
  Model model, ignored;
  Load(*db, tree, &model);
  Load(*db, gone, &ignored);
  Rng rng(13);
  PutAtRandom(*db, tree, 5'000, 1, rng, &model);
  PutAtRandom(*db, gone, 5'000, 1, rng, &ignored);
  const std::string from = KeyOf(kRecords / 2), to = KeyOf(kRecords);
  REQUIRE_OK(db->DeleteRange(tree, KeyRange{.from = from, .to = to}));
  model.erase(model.lower_bound(from), model.lower_bound(to));
  REQUIRE_OK(db->DropTree("gone"));
  PutAtRandom(*db, tree, 5'000, 2, rng, &model);
  CheckHolds(*db, tree, model);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Several threads put, read and scan at once through the change buffer") {
  auto db = OpenInMemory(BufferOptions(Durability::kGroup));
  const Tree tree = TreeOrFail(*db, "tree");
  constexpr uint64_t kThreads = 3, kPuts = kSanitizer ? 1'500 : 10'000;
  Model models[kThreads], loaded;
  Load(*db, tree, &loaded);
  std::vector<std::unique_ptr<Actor>> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.push_back(ThreadRuntime().Spawn("putter", [&, t] {
      Rng rng(t);
      for (uint64_t i = 0; i < kPuts; ++i) {
        const uint64_t n = rng.Below(2 * kRecords / kThreads) * kThreads + t;
        CHECK(db->Put(tree, KeyOf(n), ValueOf(n, i + 1)).ok());
        models[t][KeyOf(n)] = ValueOf(n, i + 1);
        if (i % 4 != 0) continue;
        const auto known = models[t].lower_bound(KeyOf(rng.Below(n + 1)));
        if (known == models[t].end()) continue;
        std::string value;
        CHECK(db->Get(tree, known->first, &value).ok());
        CHECK(value == known->second);
      }
    }));
  }
  for (const auto& thread : threads) thread->Join();
  Model all = loaded;
  for (const Model& model : models) {
    for (const auto& [key, value] : model) all[key] = value;
  }
  CheckHolds(*db, tree, all);
  REQUIRE_OK(db->Verify());
}

// One actor puts; the power fails at the end, or in the middle of what the close writes.
TEST_CASE("After a power failure the acknowledged puts are there, whether they waited or not") {
  const std::string layout = GENERATE("overwrite", "lfs", "hylog");
  const uint64_t seed = GENERATE(range(1, kSanitizer ? 2 : 6));
  if (kSanitizer && layout != "hylog") return;  // it has the parts of the others
  CAPTURE(layout, seed);
  Options options = BufferOptions(Durability::kCommit, 512 << 10);
  options.cache_bytes = 2 << 20;
  options.checkpoint_log_bytes = 256 << 10;
  options.techniques.layout = layout;
  options.techniques.segment_size = 64 << 10;
  DatabaseSizing sizing = SmallSizing();
  sizing.log_max_bytes = 0;
  Rng rng(seed);
  Model model;
  CrashImages images;
  for (int life = 0; life < 3; ++life) {
    CrashDisks disks(std::move(images));
    {
      auto db = DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(sizing), options);
      REQUIRE_OK(db.status());
      auto tree = (*db)->OpenTree("tree", /*create=*/true);
      REQUIRE_OK(tree.status());
      if (life > 0) {
        std::string found;
        for (const auto& [key, value] : model) {
          const absl::Status got = (*db)->Get(**tree, key, &found);
          if (!got.ok() || found != value) FAIL("lost: " << key << ": " << got.message());
        }
        REQUIRE_OK((*db)->Verify());
      }
      // The first life makes more leaves than there are frames.
      const uint64_t puts = life == 0 ? 20'000 : 2'000;
      for (uint64_t i = 0; i < puts; ++i) {
        const uint64_t n = rng.Below(20'000);
        REQUIRE_OK((*db)->Put(**tree, KeyOf(n), ValueOf(n, i)));
        model[KeyOf(n)] = ValueOf(n, i);
      }
      CHECK((*db)->GetStatistics().change_buffer_puts > 100);
      images = disks.CutPower(rng);
    }
  }
}

TEST_CASE("A change buffer that cannot work is refused with the reason") {
  const auto refused = [](Options options, std::string_view reason) {
    options.in_memory_device = true;
    const auto db = Database::Open("test", options);
    REQUIRE(absl::IsInvalidArgument(db.status()));
    CAPTURE(db.status().message());
    CHECK(absl::StrContains(db.status().message(), std::string(reason)));
  };
  refused(BufferOptions(Durability::kGroup, 3 << 20), "half of the cache");
  Options options = BufferOptions(Durability::kGroup);
  options.techniques.page_in = "optimistic";
  refused(options, "page-in optimistic");
  options = BufferOptions(Durability::kGroup);
  options.techniques.synchronization = "separate";
  refused(options, "separate");
  options = BufferOptions(Durability::kGroup);
  options.torn_write_protection = TornWriteProtection::kImages;
  refused(options, "images");
}

}  // namespace
}  // namespace latchkey::change_buffer_test
