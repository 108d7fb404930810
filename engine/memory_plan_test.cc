// One memory number for a database from its creation on.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "engine/database_impl.h"
#include "engine/testing/crash_disk.h"
#include "engine/testing_database.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(CrashGroup& group, CrashImages images,
                                                   uint64_t cache_bytes) {
  Options options;
  options.cache_bytes = cache_bytes;
  options.techniques.segment_size = 64 << 10;
  const DatabaseSizing sizing = {
      .log_segment_bytes = 64 << 10, .log_initial_bytes = 1 << 20, .assume_device_costs = true};
  return DatabaseImpl::OpenOverDevices(ThreadRuntime(), DevicesOf(group, std::move(images), sizing),
                                       options);
}

TEST_CASE("The least memory that a database can be created with is enough to recover it") {
  constexpr uint64_t kStep = 16 << 10, kMost = 4 << 20;
  uint64_t cache_bytes = 512 << 10;
  CrashImages images;
  for (;; cache_bytes += kStep) {
    REQUIRE(cache_bytes < kMost);
    CrashGroup group(ThreadRuntime());
    auto db = Open(group, {}, cache_bytes);
    if (absl::IsInvalidArgument(db.status())) continue;
    REQUIRE_OK(db.status());
    auto tree = (*db)->OpenTree("tree", /*create=*/true);
    REQUIRE_OK(tree.status());
    REQUIRE_OK((*db)->RunTransaction(
        [&](TransactionImpl& txn) { return txn.Put(**tree, "key", "value"); }));
    group.Crash();
    Rng rng(1);
    images = group.Images(CrashDamage::kKeepAll, rng);
    break;
  }
  CAPTURE(cache_bytes);
  CHECK(cache_bytes <= 3 << 19);  // what Options::cache_bytes promises
  CrashGroup group(ThreadRuntime());
  const auto db = Open(group, std::move(images), cache_bytes);
  REQUIRE_OK(db.status());
  std::string value;
  REQUIRE_OK((*db)->Get(**(*db)->OpenTree("tree", /*create=*/false), "key", &value));
  CHECK(value == "value");
}

}  // namespace
}  // namespace latchkey
