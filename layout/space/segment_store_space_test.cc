// Space: the file follows the wanted utilisation; full devices; the cost of cleaning.
#include <catch2/catch.hpp>
#include <cmath>

#include "layout/geometry.h"
#include "layout/space/space_sizing.h"
#include "layout/testing/layouts_under_test.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"

namespace latchkey::segment_store_space_test {
namespace {

class Filled {
 public:
  Filled(const SegmentStoreOptions& options, uint64_t limit_bytes = uint64_t{1} << 30)
      : Filled(options, NewTestDevice(limit_bytes)) {}
  Filled(const SegmentStoreOptions& options, std::shared_ptr<BlockDevice> device,
         std::shared_ptr<BlockDevice> journal = nullptr) {
    auto opened = OpenTestStore(std::move(device), options, std::move(journal));
    REQUIRE(opened.ok());
    store = std::move(opened->store);
    writer = *store->NewWriter(16);
  }
  absl::Status Add() {
    auto id = store->AllocatePage();
    if (!id.ok()) return id.status();
    pages = Raw(*id) + 1;
    return Write(*id);
  }
  absl::Status Write(PageId id) {
    const PageWrite write{id, page.data()};
    size_t accepted = 0;
    return writer->Submit({&write, 1}, &accepted);
  }
  std::unique_ptr<SegmentStore> store;
  std::unique_ptr<PageWriter> writer;
  uint64_t pages = 0;
  TestPage page;
};

TEST_CASE("The file tracks the wanted space utilisation while the database grows") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  const double wanted = GENERATE(0.5, 0.8, 0.95, 0.98);
  CAPTURE(layout, wanted);
  SegmentStoreOptions options = TestOptions(layout);
  options.space_utilization = wanted;
  Filled filled(options);
  const auto first = static_cast<uint64_t>(250 * 16 * wanted);
  while (filled.pages < first) REQUIRE(filled.Add().ok());
  filled.store->ResetExtremes();
  while (filled.pages < 3 * first) REQUIRE(filled.Add().ok());
  const PageStoreStats stats = filled.store->stats();
  CHECK(stats.min_space_utilization >= wanted - 0.005);
  CHECK(stats.max_space_utilization <= wanted + 0.005);
  CHECK(stats.live_pages == 3 * first);
}

TEST_CASE("The file shrinks when pages are freed") {
  const std::string layout = GENERATE(std::string("overwrite"), std::string("lfs"));
  CAPTURE(layout);
  Filled filled(TestOptions(layout));
  while (filled.pages < 8000) REQUIRE(filled.Add().ok());
  const uint64_t before = filled.store->stats().file_bytes;
  Rng rng(5);
  std::vector<bool> freed(8000);
  for (int i = 0; i < 4500;) {
    const uint64_t id = rng.Below(8000);
    if (freed[id]) continue;
    freed[id] = true;
    ++i;
    filled.store->FreePage(PageId{id});
  }
  PageStoreStats stats = filled.store->stats();
  // The cleaner empties the tail in the background and then cuts the file; writes of other pages
  // go on meanwhile.
  const auto shrunk = [&] {
    return std::abs(stats.space_utilization - 0.8) <= 0.005 && stats.file_bytes < before * 6 / 10;
  };
  for (int i = 0; i < 200000 && !shrunk(); ++i) {
    if (!freed[static_cast<size_t>(i) % 8000]) {
      REQUIRE(filled.Write(PageId{static_cast<uint64_t>(i) % 8000}).ok());
    }
    ThreadRuntime().SleepFor(100 * kNanosPerMicro);
    stats = filled.store->stats();
  }
  CHECK(stats.space_utilization == Approx(0.8).margin(0.005));
  CHECK(stats.file_bytes < before * 6 / 10);
  for (uint64_t i = 0; i < 8000; ++i) {
    if (!freed[i]) REQUIRE(filled.store->ReadPage(PageId{i}, filled.page.data()).ok());
  }
}

// So large that the cleaner has more than two free segments of its own.
TEST_CASE("A large file keeps every page while writers wait for the cleaner") {
  const std::string layout = GENERATE(std::string("lfs"), std::string("hylog"));
  SegmentStoreOptions options = TestOptions(layout);
  options.reserve_bytes = 16 << 20;
  options.space_utilization = 0.95;
  Filled filled(options);
  while (filled.pages < 16'000) REQUIRE(filled.Add().ok());
  std::vector<uint64_t> versions(filled.pages, 0);
  const auto write = [&](uint64_t id) {
    filled.page.Fill(PageId{id}, ++versions[id]);
    REQUIRE(filled.Write(PageId{id}).ok());
  };
  for (uint64_t id = 0; id < filled.pages; ++id) write(id);
  Rng rng(7);
  for (int i = 0; i < 40'000 / kShorter; ++i) {
    write(rng.Below(filled.pages));
    if (i % 4000 == 0) REQUIRE(filled.store->Checkpoint({}, /*clean=*/false).ok());
  }
  for (uint64_t id = 0; id < filled.pages; ++id) {
    REQUIRE(filled.store->ReadPage(PageId{id}, filled.page.data()).ok());
    REQUIRE(filled.page.Holds(PageId{id}, versions[id]));
  }
}

TEST_CASE("A full device refuses new pages and keeps serving the others") {
  const std::string layout =
      GENERATE(std::string("overwrite"), std::string("lfs"), std::string("hylog"));
  CAPTURE(layout);
  SegmentStoreOptions options = TestOptions(layout);
  options.space_utilization = 0.5;
  Filled filled(options, /*limit_bytes=*/9 << 20);
  absl::Status status;
  while ((status = filled.Add()).ok()) {
  }
  CHECK(absl::IsResourceExhausted(status));
  CHECK(filled.pages > 1000);
  Rng rng(3);
  for (int i = 0; i < 5000 / kShorter; ++i)
    REQUIRE(filled.Write(PageId{rng.Below(filled.pages)}).ok());
  for (uint64_t i = 0; i < 100; ++i) filled.store->FreePage(PageId{i});
  for (int i = 0; i < 50; ++i) REQUIRE(filled.Add().ok());
  REQUIRE(filled.store->Checkpoint({}, /*clean=*/true).ok());
}

uint64_t FileBytes(uint32_t segments) {
  return StoreGeometry::Of(kDefaultPageSize, 64 << 10).FileBytes(segments);
}

TEST_CASE("A new store takes three segments, also after a few writes and another open") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  CAPTURE(layout);
  const auto device = NewTestDevice(), journal = NewTestDevice();
  for (int open = 0; open < 3; ++open) {
    Filled filled(TestOptions(layout), device, journal);
    REQUIRE(filled.Add().ok());
    for (int i = 0; i < 5; ++i) REQUIRE(filled.Write(PageId{0}).ok());
    REQUIRE(filled.writer->Wait(0).ok());
    REQUIRE(filled.store->Checkpoint({}, /*clean=*/open != 1).ok());
    CHECK(filled.store->stats().file_bytes == FileBytes(SpaceSizing::kYoungSegments));
  }
}

TEST_CASE("A young store grows up when it gets more pages, and when pages are rewritten") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const bool by_pages = GENERATE(true, false);
  CAPTURE(layout, by_pages);
  Filled filled(TestOptions(layout), NewTestDevice(), NewTestDevice());
  REQUIRE(filled.Add().ok());
  for (int i = 0; i < 200; ++i) {
    if (by_pages) REQUIRE(filled.Add().ok());
    REQUIRE(filled.Write(PageId{0}).ok());
  }
  REQUIRE(filled.writer->Wait(0).ok());
  const PageStoreStats stats = filled.store->stats();
  // Pages that are overwritten in place need no further segment.
  const bool needs_more = by_pages || stats.in_place_page_writes == 0;
  if (needs_more) CHECK(stats.file_bytes > FileBytes(SpaceSizing::kMinReserveSegments));
  if (layout == "lfs") CHECK(needs_more);
}

// With page compression the last resort of a write was kept for the cleaner. A young store has no
// cleaning: the write waited for ever.
TEST_CASE("A young store with page compression grows up for a page that fits nowhere") {
  if (CodecsUnderTest().empty()) return;  // this build compresses no pages
  SegmentStoreOptions options = TestOptions(Compressed("lfs"));
  options.assumed_costs = kFlatCosts;
  auto device = NewTestDevice();
  TestPage page;
  // Small images, each in a block of its own.
  const auto add = [&](Filled& filled) {
    const PageId id = *filled.store->AllocatePage();
    uint64_t version = 0;
    while ((Raw(id) * 1'000'003 + version * 17) % 9 != 0) ++version;
    page.Fill(id, version);
    const PageWrite write{id, page.data()};
    size_t accepted = 0;
    REQUIRE(filled.writer->Submit({&write, 1}, &accepted).ok());
    REQUIRE(filled.store->Flush().ok());
  };
  {
    Filled filled(options, device);
    for (int i = 0; i < 12; ++i) add(filled);
    filled.writer.reset();
    REQUIRE(filled.store->Checkpoint({}, /*clean=*/true).ok());
    REQUIRE(filled.store->stats().file_bytes == FileBytes(3));
  }
  Filled filled(options, device);
  for (int i = 0; i < 10; ++i) add(filled);
  REQUIRE(filled.writer->Wait(0).ok());
  CHECK(filled.store->stats().file_bytes > FileBytes(3));
}

TEST_CASE("A young store that cannot grow refuses further pages and rewrites those it has") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const bool crash_safe = GENERATE(true, false);
  CAPTURE(layout, crash_safe);
  const auto device = NewTestDevice(FileBytes(SpaceSizing::kYoungSegments) + (200 << 10));
  const auto journal = crash_safe ? NewTestDevice() : nullptr;
  uint64_t pages = 0;
  for (int open = 0; open < 2; ++open) {
    Filled filled(TestOptions(layout), device, journal);
    absl::Status status;
    while ((status = filled.Add()).ok()) ++pages;
    CHECK(absl::IsResourceExhausted(status));
    CHECK(pages == 8);  // half of the slots of a segment
    Rng rng(3);
    for (int i = 0; i < 3000 / kShorter; ++i) {
      filled.page.Fill(PageId{0}, static_cast<uint64_t>(i));
      REQUIRE(filled.Write(PageId{rng.Below(pages)}).ok());
      if (i % 500 == 0) REQUIRE(filled.store->Checkpoint({}, /*clean=*/i % 1000 == 0).ok());
    }
    filled.store->FreePage(PageId{3});
    REQUIRE(filled.Add().ok());
    REQUIRE(filled.writer->Wait(0).ok());
    for (uint64_t id = 0; id < pages; ++id) {
      REQUIRE(filled.store->ReadPage(PageId{id}, filled.page.data()).ok());
    }
    REQUIRE(filled.store->Checkpoint({}, /*clean=*/true).ok());
    CHECK(filled.store->stats().file_bytes == FileBytes(SpaceSizing::kYoungSegments));
  }
}

TEST_CASE("Greedy cleaning of uniform updates costs what the model says") {
  if (kSanitizer) return;  // a steady state takes its time
  struct Row {
    double utilization, low, high;
  };
  const Row row = GENERATE(Row{.8, 2.2, 2.8}, Row{.9, 3.7, 5.3});
  SegmentStoreOptions options = TestOptions("lfs", "greedy");
  options.space_utilization = row.utilization;
  options.segment_size = 128 << 10;
  Filled filled(options);
  while (filled.pages < 16000) REQUIRE(filled.Add().ok());
  Rng rng(9);
  PageStoreStats middle;
  for (uint64_t i = 0; i < 8 * filled.pages; ++i) {
    if (i == 4 * filled.pages) middle = filled.store->stats();
    REQUIRE(filled.Write(PageId{rng.Below(filled.pages)}).ok());
  }
  const PageStoreStats end = filled.store->stats();
  const auto user = static_cast<double>(end.user_page_writes - middle.user_page_writes);
  const auto moved = static_cast<double>(end.cleaner_page_writes - middle.cleaner_page_writes);
  const double amplification = 1 + moved / user;
  CAPTURE(row.utilization, amplification);
  CHECK(amplification > row.low);
  CHECK(amplification < row.high);
  CHECK(end.plugged_segments < end.cleaned_segments / 10);
  CHECK(end.in_place_page_writes < end.user_page_writes / 100);
}

TEST_CASE("Where there is room, a layout that writes cold pages into holes writes none twice") {
  const bool into_holes = GENERATE(false, true);
  SegmentStoreOptions options = TestOptions(into_holes ? "hylog:h=0:holes" : "hylog:h=0");
  options.torn_write_protection = SegmentStoreOptions::TornWriteProtection::kDoublewrite;
  options.space_utilization = .5;
  constexpr uint64_t kPages = 4000;
  Filled filled(options, NewTestDevice(), NewTestDevice());
  while (filled.pages < kPages) REQUIRE(filled.Add().ok());
  REQUIRE(filled.store->Flush().ok());
  const PageStoreStats before = filled.store->stats();
  Rng rng(7);
  for (uint64_t i = 0; i < kPages / 2; ++i) {
    REQUIRE(filled.Write(PageId{rng.Below(kPages)}).ok());
  }
  REQUIRE(filled.store->Flush().ok());
  const PageStoreStats after = filled.store->stats();
  const uint64_t twice = after.protected_page_writes - before.protected_page_writes;
  CAPTURE(into_holes);
  CHECK(twice == (into_holes ? 0 : kPages / 2));
}

TEST_CASE("Statistics tell the layouts apart") {
  Filled overwrite(TestOptions("overwrite"));
  Filled lfs(TestOptions("lfs"));
  for (Filled* filled : {&overwrite, &lfs}) {
    while (filled->pages < 1000) REQUIRE(filled->Add().ok());
    Rng rng(1);
    for (int i = 0; i < 3000; ++i) REQUIRE(filled->Write(PageId{rng.Below(1000)}).ok());
    REQUIRE(filled->store->Flush().ok());
  }
  const PageStoreStats o = overwrite.store->stats(), l = lfs.store->stats();
  CHECK(o.user_page_writes == 4000);
  CHECK(o.in_place_page_writes + o.appended_page_writes == 4000);
  CHECK(o.in_place_page_writes >= 2900);  // not 3000: some pages are still in a segment buffer
  CHECK(o.hot_page_proportion == 0.0);
  CHECK(l.hot_page_proportion == 1.0);
  CHECK(l.appended_page_writes > 3900);
  CHECK(l.cleaning_utilization.has_value());
  CHECK(l.write_amplification > 1.0);
  CHECK(overwrite.store->memory_bytes() > 0);
}

/// A pool that has a clean copy of every page.
struct PoolOfAllPages final : PageStoreClient {
  bool CopyIfClean(PageId id, std::byte* out) override {
    TestPage page;
    page.Fill(id, 1);
    std::memcpy(out, page.data(), kDefaultPageSize);
    copies.fetch_add(1);
    return true;
  }
  std::atomic<uint64_t> copies{0};
};

TEST_CASE("The cleaner takes clean copies from the pool above instead of reading") {
  PoolOfAllPages pool;
  SegmentStoreOptions options = TestOptions("lfs", "greedy");
  Filled filled(options);
  filled.store->Attach(pool);
  for (uint64_t i = 0; i < 2000; ++i) {
    filled.page.Fill(PageId{i}, 1);
    REQUIRE(filled.Add().ok());
  }
  Rng rng(2);
  for (int i = 0; i < 10000; ++i) {
    const PageId id{rng.Below(2000)};
    filled.page.Fill(id, 1);
    REQUIRE(filled.Write(id).ok());
  }
  // A page that is written again while it is copied may be read after all.
  const uint64_t reads = filled.store->stats().cleaner_page_reads;
  filled.store->Detach();
  CHECK(pool.copies.load() > 0);
  CHECK(reads <= pool.copies.load() / 20);
  for (uint64_t i = 0; i < 2000; ++i) {
    REQUIRE(filled.store->ReadPage(PageId{i}, filled.page.data()).ok());
    REQUIRE(filled.page.Holds(PageId{i}, 1));
  }
}

}  // namespace
}  // namespace latchkey::segment_store_space_test
