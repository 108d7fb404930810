#include "layout/separate/death_times.h"

#include <catch2/catch.hpp>

#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::death_times_test {
namespace {

constexpr uint64_t kPages = 4096;

// Rewrites the store `passes` times: every page once in `rare` passes, the first `hot` ones with all
// other writes.
void Write(DeathTimes& times, double passes, uint64_t hot, uint64_t rare, Rng& rng) {
  const auto writes = static_cast<uint64_t>(passes * kPages);
  for (uint64_t w = 0; w < writes; ++w) {
    const bool is_rare = hot == 0 || rng.Below(rare) == 0;
    times.OnWrite(PageId{is_rare ? rng.Below(kPages) : rng.Below(hot)}, kPages);
  }
}

TEST_CASE("Pages that are written often die sooner than the others") {
  DeathTimes times(ThreadRuntime());
  Rng rng(1);
  Write(times, 40, kPages / 32, /*rare=*/10, rng);
  uint32_t hottest = 0, colder = 0;
  for (uint64_t i = 0; i < kPages; ++i) {
    if (i < kPages / 32) hottest += times.ClassOf(PageId{i}) == 0;
    if (i >= kPages / 32) colder += times.ClassOf(PageId{i}) >= 3;
  }
  CHECK(hottest == kPages / 32);
  CHECK(colder > kPages * 31 / 32 * 9 / 10);
}

TEST_CASE("The expected interval of uniformly written pages is one pass of the store") {
  DeathTimes times(ThreadRuntime());
  Rng rng(2);
  Write(times, 30, 0, 1, rng);
  double sum = 0;
  uint64_t middle = 0;
  for (uint64_t i = 0; i < kPages; ++i) {
    sum += times.ExpectedInterval(PageId{i}) - DeathTimes::kTicks / double{DeathTimes::kMemory};
    middle += times.ClassOf(PageId{i}) == 2;
  }
  CHECK(sum / kPages == Approx(DeathTimes::kTicks).epsilon(.05));
  CHECK(middle > kPages * 9 / 10);
}

TEST_CASE("A page that is not written any more turns cold without another write") {
  DeathTimes times(ThreadRuntime());
  Rng rng(3);
  Write(times, 20, kPages / 32, 10, rng);
  REQUIRE(times.ClassOf(PageId{0}) == 0);
  for (uint64_t w = 0; w < 40 * kPages; ++w) {
    times.OnWrite(PageId{kPages / 2 + rng.Below(kPages / 2)}, kPages);
  }
  CHECK(times.ClassOf(PageId{0}) >= 3);
  // Ages wrap only where they are coldest anyway.
  for (uint64_t w = 0; w < 1200 * kPages; ++w) {
    times.OnWrite(PageId{kPages / 2 + rng.Below(kPages / 2)}, kPages);
    if (w % (16 * kPages) == 0 && w > 0) REQUIRE(times.ClassOf(PageId{0}) >= 3);
  }
  CHECK(times.ClassOf(PageId{0}) == DeathTimes::kClasses - 1);
}

TEST_CASE("A freed id does not inherit the death times of the page before") {
  DeathTimes times(ThreadRuntime());
  for (int i = 0; i < 64; ++i) times.OnWrite(PageId{5}, kPages);
  REQUIRE(times.ClassOf(PageId{5}) == 0);
  times.OnFree(PageId{5});
  times.OnWrite(PageId{5}, kPages);
  CHECK(times.ClassOf(PageId{5}) == 2);
  CHECK(times.memory_bytes() <= 4096);
}

// Streams would be in vain if what they cost were more than what they bring.
TEST_CASE("With death times the cleaner moves fewer pages of a skewed workload") {
  if (kSanitizer) return;  // a steady state takes its time
  const auto moved_per_write = [](Runtime& runtime, const std::string& cleaning) {
    SegmentStoreOptions options = TestOptions("lfs", cleaning);
    options.space_utilization = 0.9;
    auto opened = OpenTestStore(NewTestDevice(uint64_t{1} << 30, runtime), options,
                                /*journal=*/nullptr, runtime);
    REQUIRE(opened.ok());
    auto writer = *opened->store->NewWriter(16);
    TestPage page;
    Rng rng(9);
    const auto write = [&](PageId id) {
      const PageWrite request{id, page.data()};
      size_t accepted = 0;
      REQUIRE(writer->Submit({&request, 1}, &accepted).ok());
    };
    for (uint64_t i = 0; i < 2 * kPages; ++i) write(*opened->store->AllocatePage());
    uint64_t moved = 0, written = 0;
    for (int pass = 0; pass < 16; ++pass) {
      if (pass == 10) {
        moved = opened->store->stats().cleaner_page_writes;
        written = opened->store->stats().user_page_writes;
      }
      for (uint64_t w = 0; w < 2 * kPages; ++w) {
        write(PageId{rng.Below(10) > 0 ? rng.Below(kPages / 5) : rng.Below(2 * kPages)});
      }
    }
    const PageStoreStats stats = opened->store->stats();
    return static_cast<double>(stats.cleaner_page_writes - moved) /
           static_cast<double>(stats.user_page_writes - written);
  };
  // On threads a busy machine decides how far behind the cleaner runs.
  const auto measure = [&](const std::string& cleaning) {
    double moved = 0;
    SimulatedRuntime runtime;
    REQUIRE(runtime.Run([&] { moved = moved_per_write(runtime, cleaning); }).ok());
    return moved;
  };
  const double adaptive = measure("adaptive"), death_time = measure("death-time");
  CAPTURE(adaptive, death_time);
  CHECK(death_time < 0.9 * adaptive);
}

}  // namespace
}  // namespace latchkey::death_times_test
