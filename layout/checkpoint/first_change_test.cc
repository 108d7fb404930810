// The first change of a store creates its map journal, which takes time on a device. A thread that
// asked for memory or statistics meanwhile used a journal that had already given up its device.
#include <catch2/catch.hpp>
#include <memory>
#include <span>

#include "layout/testing/store_on_memory.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::first_change_test {
namespace {

TEST_CASE("Memory and statistics may be asked for while the first change makes the journal") {
  SimulatedRuntime runtime;
  CrashRecorder disks(runtime, {.record = false,
                                .min_latency = 50 * kNanosPerMicro,
                                .max_latency = 50 * kNanosPerMicro,
                                .sync_latency = 10 * kNanosPerMicro});
  disks.AddDisk("data");
  disks.AddDisk("journal");
  size_t before = 0, after = 0;
  int asked = 0;
  const absl::Status ran = runtime.Run([&] {
    auto opened = OpenSegmentStore(runtime, disks.Open(0), disks.Open(1), TestOptions("lfs"));
    REQUIRE(opened.ok());
    SegmentStore& store = *opened->store;
    before = store.memory_bytes();
    bool done = false;
    const auto asks = runtime.Spawn("asks", [&] {
      for (; !done; ++asked) {
        after = store.memory_bytes();
        CHECK(store.stats().live_pages <= 1);
        runtime.SleepFor(kNanosPerMicro);
      }
    });
    const PageId id = *store.AllocatePage();
    TestPage page;
    page.Fill(id, 1);
    auto writer = store.NewWriter(4);
    REQUIRE(writer.ok());
    const PageWrite write{.id = id, .data = page.data()};
    size_t accepted = 0;
    REQUIRE((*writer)->Submit(std::span(&write, 1), &accepted).ok());
    REQUIRE(store.Flush().ok());
    done = true;
    asks->Join();
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  CHECK(asked > 100);
  CHECK(after >= before);
}

}  // namespace
}  // namespace latchkey::first_change_test
