// A page is written twice into one doublewrite batch, and once more into the next while the first batch
// goes to its slots. The first two copies were then written to the slot at once, and the older one could
// be the last: only the area of the batch still had the newer one.
#include <catch2/catch.hpp>
#include <memory>
#include <span>

#include "layout/testing/store_on_memory.h"
#include "storage/device/faulty/crash_recorder.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::overtaken_twice_test {
namespace {

void Write(PageWriter& writer, PageId id, uint64_t version) {
  TestPage page;
  page.Fill(id, version);
  const PageWrite write{.id = id, .data = page.data()};
  size_t accepted = 0;
  REQUIRE(writer.Submit(std::span(&write, 1), &accepted).ok());
  REQUIRE(accepted == 1);
}

TEST_CASE("Of two copies of a page in one doublewrite batch only the newer one goes to the slot") {
  const Nanos later = GENERATE(range<Nanos>(0, 200 * kNanosPerMicro, 10 * kNanosPerMicro));
  CAPTURE(later);
  SimulatedRuntime runtime;
  CrashRecorder disks(runtime, {.min_latency = 50 * kNanosPerMicro,
                                .max_latency = 50 * kNanosPerMicro,
                                .sync_latency = 10 * kNanosPerMicro});
  disks.AddDisk("data");
  disks.AddDisk("journal");
  const absl::Status ran = runtime.Run([&] {
    auto opened = OpenSegmentStore(runtime, disks.Open(0), disks.Open(1), TestOptions("overwrite"));
    REQUIRE(opened.ok());
    SegmentStore& store = *opened->store;
    const std::unique_ptr<PageWriter> writer = *store.NewWriter(4);
    const PageId id = *store.AllocatePage();
    Write(*writer, id, 1);
    REQUIRE(store.Flush().ok());

    Write(*writer, id, 2);
    Write(*writer, id, 3);
    const auto other = runtime.Spawn("other", [&] {
      runtime.SleepFor(1 + later);
      const std::unique_ptr<PageWriter> own = *store.NewWriter(1);
      Write(*own, id, 4);
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
}  // namespace latchkey::overtaken_twice_test
