// What a range delete does to leaves that split meanwhile, under seeded schedules.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "engine/testing/recorded_machine.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::range_removal_test {
namespace {

constexpr double kPreemptions = 0.3;

// Ascending puts below the range fill the leaf that holds the range's first records, until it splits
// between the two.
void DeleteBesideSplits(Runtime& runtime, DatabaseImpl& db, uint64_t seed) {
  const auto tree = db.OpenTree(fmt::format("tree {}", seed), /*create=*/true);
  REQUIRE_OK(tree.status());
  const std::string value(100, 'v');
  for (int n = 0; n < 12; ++n) REQUIRE_OK(db.Put(**tree, fmt::format("n{:03}", n), value));
  const auto writer = runtime.Spawn("writer", [&] {
    for (int n = 0; n < 60; ++n) REQUIRE_OK(db.Put(**tree, fmt::format("b{:03}", n), value));
  });
  const auto deleter = runtime.Spawn("deleter", [&] {
    Rng rng(seed);
    runtime.SleepFor(rng.Below(40 * kNanosPerMicro));
    REQUIRE_OK(db.DeleteRange(**tree, {.from = "m", .to = "z"}));
  });
  writer->Join();
  deleter->Join();
  std::string found;
  int left = 0;
  for (int n = 0; n < 12; ++n) {
    left += db.Get(**tree, fmt::format("n{:03}", n), &found).ok() ? 1 : 0;
  }
  CHECK(left == 0);
}

// The end of the leaf was looked up before the leaf split, so the records behind the split stayed.
TEST_CASE("A range delete finds all records of a leaf that splits at the beginning of the range",
          "[simulation]") {
  const uint64_t seed = GENERATE(range(1, kSanitizer ? 4 : 20));
  CAPTURE(seed);
  RecordedMachine machine(seed, kPreemptions);
  const absl::Status ran = machine.runtime.Run([&] {
    auto db = DatabaseImpl::OpenOverDevices(machine.runtime, DevicesOn(machine.disks, BusySizing()),
                                            BusyOptions("overwrite", Durability::kGroup));
    REQUIRE_OK(db.status());
    for (uint64_t tree = 0; tree < 20; ++tree) {
      DeleteBesideSplits(machine.runtime, **db, 100 * seed + tree);
    }
    REQUIRE_OK((*db)->Verify());
    REQUIRE_OK((*db)->Close());
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
}

}  // namespace
}  // namespace latchkey::range_removal_test
