// One memory number for a database from its creation on.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/crash_disks.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"

namespace latchkey {
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
  // One writer has no races to find, so one layout is enough for ThreadSanitizer.
  const std::vector<std::string> layouts =
      kThreadSanitizer ? std::vector<std::string>{"hylog"}
                       : std::vector<std::string>{"overwrite", "lfs", "wolf", "hylog"};
  Options options;
  options.techniques.layout = GENERATE_COPY(from_range(layouts));
  options.durability = GENERATE(Durability::kNone, Durability::kCommit);
  CAPTURE(options.techniques.layout, static_cast<int>(options.durability));
  if (kThreadSanitizer && options.durability == Durability::kNone) return;
  options.cache_bytes = 48 << 20;
  const auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "tree");
  const auto write = [&] {
    for (int first = 0; first < 60'000; first += 500) {
      WriteBatch batch;
      for (int i = first; i < first + 500; ++i) {
        batch.Put(tree, std::to_string(i * 7919 % 60'000), std::string(400, 'v'));
      }
      REQUIRE_OK(db->Write(batch));
    }
    const Statistics now = db->GetStatistics();
    CHECK(now.memory_bytes <= now.cache_bytes);
  };
  write();
  REQUIRE_OK(db->Checkpoint());  // the device is in memory, too, and is not to grow meanwhile
  const uint64_t before = ResidentBytes();
  REQUIRE_OK(db->SetCacheBytes(12 << 20));
  // The frames go back to the system.
  CHECK(ResidentBytes() + (16 << 20) < before);
  write();
  REQUIRE_OK(db->SetCacheBytes(16 << 20));
  write();
  REQUIRE_OK(db->Close());
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
}  // namespace latchkey
