// The whole engine with every way to fix and to read pages, in a cache smaller than the data.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/runtime/runtime.h"

namespace latchkey::fix_modes_test {
namespace {

constexpr uint64_t kActors = 3, kKeys = 8'000;
constexpr int kOperations = kThreadSanitizer ? 4'000 : 12'000;

std::string Key(uint64_t actor, uint64_t i) {
  return std::to_string(1'000'000 + i) + "-" + std::to_string(actor);
}

// Each actor writes and reads keys of its own; its neighbours in every leaf are the others'.
bool WriteAndRead(Database& db, Tree tree, uint64_t actor) {
  std::vector<int> versions(kKeys, 0);
  Rng rng(actor);
  std::string value;
  for (int i = 0; i < kOperations; ++i) {
    const uint64_t at = rng.Below(kKeys);
    const std::string key = Key(actor, at);
    if (rng.Below(3) != 0) {
      const int version = ++versions[at];
      if (!db.Put(tree, key, std::to_string(version) + std::string(120, 'v')).ok()) return false;
    }
    const absl::Status got = db.Get(tree, key, &value);
    if (versions[at] == 0 ? !absl::IsNotFound(got)
                          : !got.ok() || std::stoi(value) != versions[at]) {
      return false;
    }
  }
  return true;
}

TEST_CASE("Actors read what they wrote, whatever way pages are fixed and read", "[concurrency]") {
  const auto [fix, page_in, synchronization] =
      GENERATE(table<std::string, std::string, std::string>(
          {{"latched", "blocking", "global"},
           {"latched", "optimistic", "regions:4"},
           {"optimistic", "optimistic", "global"},
           {"optimistic", "blocking", "separate:actors=3"},
           {"optimistic", "optimistic", "separate:actors=2:private=0.5"}}));
  CAPTURE(fix, page_in, synchronization);
  Options options;
  options.cache_bytes = 2 << 20;
  options.techniques.fix = fix;
  options.techniques.page_in = page_in;
  options.techniques.synchronization = synchronization;
  const auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "t");
  std::atomic<uint64_t> right{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t a = 0; a < kActors; ++a) {
    actors.push_back(
        ThreadRuntime().Spawn("user", [&, a] { right += WriteAndRead(*db, tree, a) ? 1 : 0; }));
  }
  actors.clear();
  CHECK(right == kActors);
  CHECK(db->GetStatistics().demand_reads > 100);  // the cache is smaller than the data
  REQUIRE_OK(db->Close());
}

// The read kept its shared latch, and the rollback waited for it for ever.
TEST_CASE("A latched read whose snapshot is too old gives its latch up before it rolls back") {
  Options options;
  options.techniques.fix = "latched";
  options.version_store_bytes = 64 << 10;
  options.snapshot_spill_bytes = 1;  // nothing can be spilled
  const auto db = OpenInMemory(options);
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "read", "0"));
  Transaction old = db->Begin();
  REQUIRE_OK(old.Put(tree, "written", "beside it, in the same leaf"));
  REQUIRE_OK(db->Put(tree, "read", "1"));
  const Tree other = TreeOrFail(*db, "other");
  for (int i = 0; i < 4'000; ++i) REQUIRE_OK(db->Put(other, std::to_string(i), "v"));
  REQUIRE(db->GetStatistics().snapshots_too_old > 0);
  std::string value;
  CHECK(absl::IsAborted(old.Get(tree, "read", &value)));
  CHECK(absl::IsNotFound(db->Get(tree, "written", &value)));
  REQUIRE_OK(db->Close());
}

TEST_CASE("Latched fixes are refused with private copies, with the reason") {
  Options options;
  options.in_memory_device = true;
  options.techniques.fix = "latched";
  options.techniques.synchronization = "separate";
  const absl::Status refused = Database::Open("test", options).status();
  REQUIRE(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("without a latch"));
}

}  // namespace
}  // namespace latchkey::fix_modes_test
