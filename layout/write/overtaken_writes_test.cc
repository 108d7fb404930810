// A page is written again while its last write is on the way.
#include <catch2/catch.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "layout/testing/store_on_memory.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::overtaken_writes_test {
namespace {

std::unique_ptr<SegmentStore> Open(SimulatedRuntime& runtime, CrashRecorder& disks,
                                   const char* layout) {
  auto opened = OpenSegmentStore(runtime, disks.Open(0), disks.Open(1), TestOptions(layout));
  INFO(opened.status().message());
  REQUIRE(opened.ok());
  return std::move(opened->store);
}

void Write(PageWriter& writer, PageId id, uint64_t version) {
  TestPage page;
  page.Fill(id, version);
  const PageWrite write{.id = id, .data = page.data()};
  size_t accepted = 0;
  REQUIRE(writer.Submit(std::span(&write, 1), &accepted).ok());
  REQUIRE(accepted == 1);
}

void Write(SegmentStore& store, PageId id, uint64_t version) {
  auto writer = store.NewWriter(4);
  REQUIRE(writer.ok());
  Write(**writer, id, version);
}

// A page write takes 50 us, a sync 10.
struct SlowDisks {
  explicit SlowDisks(SimulatedRuntime& runtime)
      : recorder(runtime, {.min_latency = 50 * kNanosPerMicro,
                           .max_latency = 50 * kNanosPerMicro,
                           .sync_latency = 10 * kNanosPerMicro}) {
    recorder.AddDisk("data");
    recorder.AddDisk("journal");
  }
  CrashRecorder recorder;
};

// The flush must make the newer copy durable, because the map never names the older one. A checkpoint
// of the engine relied on the flush and gave up the older log. After a crash the page then had a much
// older state, or none.
TEST_CASE("A flush makes durable what overtakes its writes") {
  const char* layout = GENERATE("lfs", "wolf", "hylog", "overwrite");
  const Nanos later = GENERATE(range<Nanos>(0, 80 * kNanosPerMicro, 10 * kNanosPerMicro));
  CAPTURE(layout, later);
  SimulatedRuntime runtime;
  SlowDisks slow(runtime);
  CrashRecorder& disks = slow.recorder;
  PageId id{0};
  uint64_t flushed_at = 0;
  const absl::Status ran = runtime.Run([&] {
    const auto store = Open(runtime, disks, layout);
    id = *store->AllocatePage();
    Write(*store, id, 1);
    REQUIRE(store->Flush().ok());
    Write(*store, id, 2);
    const auto other = runtime.Spawn("other", [&] {
      runtime.SleepFor(1 + later);
      Write(*store, id, 3);
    });
    REQUIRE(store->Flush().ok());
    flushed_at = disks.position();
    other->Join();
  });
  INFO(ran.message());
  REQUIRE(ran.ok());

  CrashReplay replay(disks);
  replay.AdvanceTo(flushed_at);
  SimulatedRuntime next_runtime;
  CrashRecorder left(next_runtime, {.record = false});
  for (const DiskImage& image : replay.Images({CrashVariant::kNone, 0}, /*seed=*/1)) {
    left.AddDisk("disk", image);
  }
  const absl::Status read = next_runtime.Run([&] {
    const auto store = Open(next_runtime, left, layout);
    TestPage page;
    REQUIRE(store->ReadPage(id, page.data()).ok());
    CHECK((page.Holds(id, 2) || page.Holds(id, 3)));
  });
  REQUIRE(read.ok());
}

// A page is written twice into one doublewrite batch, and once more into the next while the first batch
// goes to its slots. The first two copies were then written to the slot at once, and the older one could
// be the last: only the area of the batch still had the newer one.
TEST_CASE("Of two copies of a page in one doublewrite batch only the newer one goes to the slot") {
  const Nanos later = GENERATE(range<Nanos>(0, 200 * kNanosPerMicro, 10 * kNanosPerMicro));
  CAPTURE(later);
  SimulatedRuntime runtime;
  SlowDisks slow(runtime);
  CrashRecorder& disks = slow.recorder;
  const absl::Status ran = runtime.Run([&] {
    const std::unique_ptr<SegmentStore> opened = Open(runtime, disks, "overwrite");
    SegmentStore& store = *opened;
    const std::unique_ptr<PageWriter> writer = *store.NewWriter(4);
    const PageId id = *store.AllocatePage();
    Write(*writer, id, 1);
    REQUIRE(store.Flush().ok());

    Write(*writer, id, 2);
    Write(*writer, id, 3);
    const auto other = runtime.Spawn("other", [&] {
      runtime.SleepFor(1 + later);
      Write(store, id, 4);
    });
    REQUIRE(store.Flush().ok());
    other->Join();
    REQUIRE(store.Flush().ok());
    TestPage page;
    REQUIRE(store.ReadPage(id, page.data()).ok());
    CHECK(page.Holds(id, 4));
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  for (const std::string& violation : disks.violations()) FAIL_CHECK(violation);
}

}  // namespace
}  // namespace latchkey::overtaken_writes_test
