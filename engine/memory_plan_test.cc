// One memory number for a database from its creation on.
#include "engine/memory_plan.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/cleaning/cleaning_controller.h"
#include "bufferpool/cleaning/page_cleaner.h"
#include "engine/database_impl.h"
#include "engine/technique_choices.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "layout/write/store_buffers.h"
#include "storage/base/sanitizers.h"

namespace latchkey::memory_plan_test {
namespace {

absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(CrashDisks& disks, uint64_t cache_bytes) {
  Options options;
  options.cache_bytes = cache_bytes;
  options.techniques.segment_size = 64 << 10;
  const DatabaseSizing sizing = {
      .log_segment_bytes = 64 << 10, .log_initial_bytes = 1 << 20, .assume_device_costs = true};
  return DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(sizing), options);
}

TEST_CASE("The least memory that a database can be created with is enough to recover it") {
  constexpr uint64_t kStep = 16 << 10, kMost = 4 << 20;
  uint64_t cache_bytes = 512 << 10;
  CrashImages images;
  for (;; cache_bytes += kStep) {
    REQUIRE(cache_bytes < kMost);
    CrashDisks disks;
    auto db = Open(disks, cache_bytes);
    if (absl::IsInvalidArgument(db.status())) continue;
    REQUIRE_OK(db.status());
    auto tree = (*db)->OpenTree("tree", /*create=*/true);
    REQUIRE_OK(tree.status());
    REQUIRE_OK((*db)->RunTransaction(
        [&](TransactionImpl& txn) { return txn.Put(**tree, "key", "value"); }));
    images = disks.CutPower(CrashVariant::kAll);
    break;
  }
  CAPTURE(cache_bytes);
  CHECK(cache_bytes <= 3 << 19);  // what Options::cache_bytes promises
  CrashDisks disks(std::move(images));
  const auto db = Open(disks, cache_bytes);
  REQUIRE_OK(db.status());
  std::string value;
  REQUIRE_OK((*db)->Get(**(*db)->OpenTree("tree", /*create=*/false), "key", &value));
  CHECK(value == "value");
}

// Resident memory of this process, bytes.
uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Frames were planned as if the layout held no copies of pages, which it takes when it first
// writes.
TEST_CASE("A database that has written much holds no more memory than its cache_bytes") {
  // Takes 100 s under ThreadSanitizer, and cleaners beside writers are in the tests of many users.
  if (kThreadSanitizer) return;
  // One layout is enough for address sanitizer.
  const std::vector<std::string> layouts =
      kSanitizer ? std::vector<std::string>{"hylog"}
                 : std::vector<std::string>{"overwrite", "lfs", "wolf", "hylog"};
  Options options;
  options.techniques.layout = GENERATE_COPY(from_range(layouts));
  options.durability = GENERATE(Durability::kNone, Durability::kCommit);
  CAPTURE(options.techniques.layout, static_cast<int>(options.durability));
  if (kSanitizer && options.durability == Durability::kNone) return;
  constexpr int kRecords = 60'000;
  constexpr uint64_t kUnit = 1 << 20;
  options.cache_bytes = 48 * kUnit;
  const auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "tree");
  const auto write = [&] {
    for (int first = 0; first < kRecords; first += 500) {
      WriteBatch batch;
      for (int i = first; i < first + 500; ++i) {
        batch.Put(tree, std::to_string(i * 7919 % kRecords), std::string(400, 'v'));
      }
      REQUIRE_OK(db->Write(batch));
    }
    const Statistics now = db->GetStatistics();
    CHECK(now.memory_bytes <= now.cache_bytes);
  };
  write();
  REQUIRE_OK(db->Checkpoint());  // the device is in memory, too, and is not to grow meanwhile
  const uint64_t before = ResidentBytes();
  // The buffers are those of the cache before; in half of it they leave less for pages.
  REQUIRE_OK(db->SetCacheBytes(12 * kUnit));
  // The frames go back to the system.
  CHECK(ResidentBytes() + 16 * kUnit < before);
  write();
  REQUIRE_OK(db->SetCacheBytes(16 * kUnit));
  write();
  REQUIRE_OK(db->Close());
}

// Puts `records` values of 400 bytes, in batches, and checks the account after each batch.
void PutWithinCache(Database& db, int records) {
  const Tree tree = TreeOrFail(db, "tree");
  for (int first = 0; first < records; first += 500) {
    WriteBatch batch;
    for (int i = first; i < first + 500; ++i) {
      batch.Put(tree, std::to_string(i * 7919 % records), std::string(400, 'v'));
    }
    REQUIRE_OK(db.Write(batch));
    const Statistics now = db.GetStatistics();
    if (now.memory_bytes > now.cache_bytes) CHECK(now.memory_bytes <= now.cache_bytes);
  }
}

// The buffers had one size for all caches: with 4 MiB of cache they alone took 4 MiB.
TEST_CASE("A small database cache holds from its creation on, in every layout") {
  struct Case {
    uint64_t cache_bytes;
    bool with_sanitizer;
  };
  constexpr Case kCases[] = {
      {3 << 19, false}, {2 << 20, true}, {4 << 20, false}, {8 << 20, false}, {16 << 20, false}};
  const Case one = GENERATE_COPY(from_range(std::begin(kCases), std::end(kCases)));
  if (kSanitizer && !one.with_sanitizer) return;
  const std::string layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  const auto durability = GENERATE(Durability::kNone, Durability::kGroup);
  if (kSanitizer && layout != "hylog") return;
  Options options;
  options.cache_bytes = one.cache_bytes;
  options.techniques.layout = layout;
  options.durability = durability;
  CAPTURE(one.cache_bytes, layout, static_cast<int>(durability));
  const auto db = OpenInMemory(options);
  // The maps grow with the file; the smallest cache has no room for those of the larger file.
  PutWithinCache(*db, kThreadSanitizer                          ? 8'000
                      : kSanitizer || one.cache_bytes < 2 << 20 ? 20'000
                                                                : 60'000);
  REQUIRE_OK(db->Close());
}

// The plan counted ten segments of 64 KiB. Victims of two MiB and the logs of all streams came on top.
TEST_CASE("A cache of 64 MiB holds the victims and streams of short segments") {
  if (kThreadSanitizer) return;  // too slow, and cleaners beside writers are in other tests
  Options options;
  options.cache_bytes = 64 << 20;
  options.durability = Durability::kGroup;
  options.techniques.layout = "hylog";
  options.techniques.segment_size = 64 << 10;
  const auto db = OpenInMemory(options);
  for (int round = 0; round < 2; ++round) PutWithinCache(*db, kSanitizer ? 150'000 : 300'000);
  REQUIRE_OK(db->Close());
}

TEST_CASE("From 64 MiB on the buffers and the number of frames do not depend on small caches") {
  struct Case {
    uint64_t cache_bytes;
    Durability durability;
    uint64_t frames;
  };
  // What buffers of full size leave, with a log three doublewrite batches among them.
  constexpr Case kCases[] = {{64 << 20, Durability::kNone, 14303},
                             {64 << 20, Durability::kGroup, 13423},
                             {256 << 20, Durability::kNone, 61390},
                             {256 << 20, Durability::kGroup, 58991}};
  for (const Case& one : kCases) {
    Options options;
    options.cache_bytes = one.cache_bytes;
    options.durability = one.durability;
    options.techniques.replacement = "clock";  // whose bytes per frame these numbers contain
    const auto db = OpenInMemory(options);
    CHECK(db->GetStatistics().frames == one.frames);
    REQUIRE_OK(db->Close());
  }
  const StoreGeometry geometry = StoreGeometry::Of(4096, 256 << 10);
  for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{64} << 20, uint64_t{1} << 40}) {
    const StoreBuffers buffers = StoreBuffers::For(cache_bytes, geometry, 4);
    CHECK(buffers.doublewrite_pages == 126);
    CHECK(buffers.cleaner_requests == 64);
    CHECK(buffers.segment_buffers == 9);
    CHECK(buffers.WriterDepth(256, uint64_t{1} << 40, 4096) == 256);
    CHECK(buffers.journal_entries == 8192);
    CHECK(buffers.journal_slots == 4096);
    CHECK(StoreBuffers::LargestDefaultSegment(cache_bytes) >= 4 << 20);
  }
  CHECK(StoreBuffers::LargestDefaultSegment(40 << 20) == 512 << 10);
  CHECK(StoreBuffers::LargestErasedSegment(40 << 20) == 1 << 20);
}

// Each of four cleaners asked for 256 writes. Two got 213 and two got 2, so the pages of these were
// written by evictions, and N rose without effect.
TEST_CASE("Several page cleaners of a small cache get writers of the same depth") {
  const StoreGeometry geometry = StoreGeometry::Of(4096, 128 << 10);
  const StoreBuffers buffers = StoreBuffers::For(uint64_t{14} << 20, geometry, 4);
  const auto controller = CleaningControllers().Named("self-tuning").Make();
  const uint32_t count = GENERATE(2u, 4u, 8u);
  CAPTURE(count);
  const uint32_t wanted = PageCleaners::WriterDepth(*controller, count);
  const uint32_t first = buffers.WriterDepth(wanted, 0, 4096);
  CHECK(first >= 16);
  uint64_t taken = 0;
  for (uint32_t cleaner = 0; cleaner < count; ++cleaner) {
    const uint32_t depth = buffers.WriterDepth(wanted, taken, 4096);
    CHECK(depth == first);
    taken += uint64_t{depth} * 4096;
  }
}

// mq remembers 4 evicted pages for each frame. What it took beside the frames was no part of
// memory_bytes.
TEST_CASE("What a replacement algorithm remembers is part of cache_bytes") {
  uint64_t for_frames_of_clock = 0;
  for (const char* replacement : {"clock", "lru", "mq", "arc"}) {
    CAPTURE(replacement);
    Options options;
    options.cache_bytes = 64 << 20;
    options.techniques.replacement = replacement;
    const auto choices = ParseTechniques(options.techniques);
    REQUIRE_OK(choices.status());
    const uint64_t per_frame = BytesPerFrame(4096, *choices);
    const auto db = OpenInMemory(options);
    const uint64_t for_frames = db->GetStatistics().frames * per_frame;
    CHECK(for_frames == Approx(for_frames_of_clock == 0 ? for_frames : for_frames_of_clock)
                            .margin(static_cast<double>(2 * per_frame)));
    if (for_frames_of_clock == 0) for_frames_of_clock = for_frames;
    REQUIRE_OK(db->Close());
  }
}

TEST_CASE("A small cache over large segments is exceeded, and the open says so") {
  CrashDisks disks;
  std::string warning;
  Options options;
  options.cache_bytes = 2 << 20;
  options.techniques.segment_size = 1 << 20;
  options.log_sink = [&](LogSeverity severity, std::string_view message) {
    if (severity == LogSeverity::kWarning) warning += message;
  };
  const DatabaseSizing sizing = {
      .log_segment_bytes = 64 << 10, .log_initial_bytes = 1 << 20, .assume_device_costs = true};
  auto db = DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(sizing), options);
  REQUIRE_OK(db.status());
  CHECK(warning.find("a cache of 2097152 bytes is too small") != std::string::npos);
  CHECK(warning.find("segments of 1048576 bytes") != std::string::npos);
  REQUIRE_OK((*db)->Close());
}

// Half of the log's buffer was smaller than the images of a split of 64 KiB pages.
TEST_CASE("With the least memory the log takes the largest record, whatever the page size") {
  const auto protection = GENERATE(TornWriteProtection::kDoublewrite, TornWriteProtection::kImages);
  const uint32_t page_size = GENERATE(4096u, 16384u, 65536u);
  CAPTURE(page_size, static_cast<int>(protection));
  Options options;
  options.page_size = page_size;
  options.torn_write_protection = protection;
  options.techniques.segment_size = std::max(64u << 10, 8 * page_size);
  const DatabaseSizing sizing = {.assume_device_costs = true};
  CrashDisks disks;
  std::unique_ptr<DatabaseImpl> db;
  for (options.cache_bytes = 1 << 20; db == nullptr; options.cache_bytes += 256 << 10) {
    REQUIRE(options.cache_bytes < 16 << 20);
    auto opened = DatabaseImpl::OpenOverDevices(ThreadRuntime(), disks.Devices(sizing), options);
    if (opened.ok()) db = *std::move(opened);
    if (db == nullptr) REQUIRE(absl::IsInvalidArgument(opened.status()));
  }
  auto tree = db->OpenTree("tree", /*create=*/true);
  REQUIRE_OK(tree.status());
  const auto put = [&](int key, size_t size) {
    REQUIRE_OK(db->RunTransaction([&](TransactionImpl& txn) {
      return txn.Put(**tree, std::to_string(key), std::string(size, 'v'));
    }));
  };
  for (int key = 0; key < 60; ++key) put(key * 7 % 60, page_size / 5);
  REQUIRE_OK(db->Checkpoint());
  for (int key = 0; key < 60; ++key) put(key, page_size / 5);
  put(60, 3 * page_size);
  REQUIRE_OK(db->Verify());
  REQUIRE_OK(db->Close());
}

}  // namespace
}  // namespace latchkey::memory_plan_test
