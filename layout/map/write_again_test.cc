// One failed write made a whole database read-only. Now it is retried: elsewhere, or in its place.
#include "layout/map/write_again.h"

#include <catch2/catch.hpp>
#include <map>

#include "layout/testing/failing_writes.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"

namespace latchkey::write_again_test {
namespace {

constexpr uint64_t kPages = 300;

/// A store with pages, and the newest version of each.
struct Store {
  Store(const std::string& layout, bool crash_safe, uint64_t pages = kPages)
      : options(TestOptions(layout)) {
    if (crash_safe) journal = NewTestDevice();
    Open();
    for (uint64_t i = 0; i < pages; ++i) {
      REQUIRE(*store->AllocatePage() == PageId{i});
      REQUIRE(Write(i).ok());
    }
    REQUIRE(store->Flush().ok());
  }
  ~Store() { writer.reset(); }

  void Open() {
    auto opened = OpenTestStore(device, options, journal);
    INFO(opened.status().message());
    REQUIRE(opened.ok());
    store = std::move(opened->store);
    writer = *store->NewWriter(8);
  }
  void Close(bool clean) {
    writer.reset();
    if (clean) REQUIRE(store->Checkpoint({}, /*clean=*/true).ok());
    store.reset();
  }
  absl::Status Write(uint64_t i) {
    page.Fill(PageId{i}, versions[i] + 1);
    const PageWrite write{PageId{i}, page.data()};
    size_t accepted = 0;
    const absl::Status status = writer->Submit({&write, 1}, &accepted);
    versions[i] += accepted;
    return status;
  }
  void CheckAll() {
    for (const auto& [i, version] : versions) {
      CAPTURE(i);
      REQUIRE(store->ReadPage(PageId{i}, page.data()).ok());
      CHECK(page.Holds(PageId{i}, version));
    }
  }

  const SegmentStoreOptions options;
  const std::shared_ptr<FailingWrites> device = std::make_shared<FailingWrites>(NewTestDevice());
  std::shared_ptr<BlockDevice> journal;
  std::unique_ptr<SegmentStore> store;
  std::unique_ptr<PageWriter> writer;
  std::map<uint64_t, uint64_t> versions;
  TestPage page;
};

std::string AnyLayout() {
  return GENERATE(std::string("overwrite"), std::string("lfs"), std::string("wolf"),
                  std::string("hylog"), Compressed("lfs"), Compressed("hylog"));
}

TEST_CASE("A store goes on after a write that failed, and finds everything at the next open") {
  const std::string layout = AnyLayout();
  const bool crash_safe = GENERATE(false, true);
  const int failures = GENERATE(1, kWriteAttempts - 1);
  CAPTURE(layout, crash_safe, failures);
  Store s(layout, crash_safe);
  s.device->fail_next = failures;
  for (uint64_t i = 0; i < kPages; i += 7) REQUIRE(s.Write(i).ok());
  REQUIRE(s.store->Flush().ok());
  CHECK(s.device->fail_next == 0);
  REQUIRE(s.writer->Wait(0).ok());
  s.CheckAll();
  s.Close(/*clean=*/!crash_safe);
  s.Open();
  s.CheckAll();
}

TEST_CASE("A checkpoint goes on after any of its writes has failed") {
  const std::string layout = AnyLayout();
  const bool clean = GENERATE(false, true);
  CAPTURE(layout, clean);
  Store s(layout, /*crash_safe=*/true);
  REQUIRE(s.Write(7).ok());
  REQUIRE(s.store->Flush().ok());
  s.device->fail_next = 1;
  REQUIRE(s.store->Checkpoint({}, clean).ok());
  CHECK(s.device->fail_next == 0);
  s.Close(/*clean=*/false);
  s.Open();
  s.CheckAll();
}

TEST_CASE("An appended page whose slot takes no write lies elsewhere, and the slot is left alone") {
  const std::string layout = GENERATE(std::string("lfs"), std::string("wolf"), Compressed("lfs"));
  const bool crash_safe = GENERATE(false, true);
  CAPTURE(layout, crash_safe);
  Store s(layout, crash_safe);
  s.device->go_bad_at_next_write = kDefaultPageSize;
  Rng rng(1);
  for (int n = 0; n < 5000 / kShorter; ++n) REQUIRE(s.Write(rng.Below(kPages)).ok());
  REQUIRE(s.store->Flush().ok());
  CHECK(s.device->failed() == 1);  // later writes, the cleaner's too, avoid the bad slot
  CHECK(s.store->stats().writes_again >= 1);
  s.CheckAll();
  s.Close(/*clean=*/!crash_safe);
  s.Open();
  s.CheckAll();
}

// After a reopen the bad slot was free, and its segment was the first free one. So each checkpoint
// took it, and every open ended read-only.
TEST_CASE("A slot that took no write is forgotten at the next open, and no write depends on it") {
  const std::string layout = GENERATE(std::string("lfs"), std::string("wolf"));
  const bool crash_safe = GENERATE(false, true);
  const bool clean = GENERATE(false, true);
  CAPTURE(layout, crash_safe, clean);
  Store s(layout, crash_safe);
  s.device->go_bad_at_next_write = kDefaultPageSize;
  Rng rng(1);
  for (int open = 0; open < 4; ++open) {
    CAPTURE(open);
    const uint64_t failed = s.device->failed();
    for (int n = 0; n < 2000 / kShorter; ++n) REQUIRE(s.Write(rng.Below(kPages)).ok());
    REQUIRE(s.store->Checkpoint({}, /*clean=*/false).ok());
    REQUIRE(s.store->WriteStatus().ok());
    CHECK(s.device->failed() - failed <= kWriteAttempts);
    s.CheckAll();
    s.Close(clean || !crash_safe);
    s.Open();
    s.CheckAll();
  }
}

// A young file has no fourth segment: the store became read-only.
TEST_CASE("A checkpoint whose segment takes no write lies in another segment, at each open") {
  const std::string layout = AnyLayout();
  const bool clean = GENERATE(false, true);
  const auto pages = GENERATE(as<uint64_t>{}, 3, 300);
  CAPTURE(layout, clean, pages);
  Store s(layout, /*crash_safe=*/true, pages);
  for (int open = 0; open < 3; ++open) {
    CAPTURE(open);
    const uint64_t failed = s.device->failed();
    for (int n = 0; n < 3; ++n) {
      REQUIRE(s.Write(static_cast<uint64_t>(n)).ok());
      REQUIRE(s.store->Flush().ok());
      if (open == 0 && n == 1) s.device->go_bad_at_next_write = kDefaultPageSize;
      REQUIRE(s.store->Checkpoint({}, clean).ok());
    }
    CHECK(s.device->failed() - failed <= kWriteAttempts);  // it is left alone until the next open
    s.Close(/*clean=*/false);
    s.Open();
    s.CheckAll();
  }
  CHECK(s.device->failed() >= kWriteAttempts);
}

TEST_CASE("A page that is written over its slot is tried there so often, then all is read-only") {
  const bool crash_safe = GENERATE(false, true);
  CAPTURE(crash_safe);
  Store s("overwrite", crash_safe);
  // The doublewrite area, if there is one, or the slot.
  s.device->go_bad_at_next_write = kDefaultPageSize;
  REQUIRE(s.Write(7).ok());
  CHECK_FALSE(s.store->Flush().ok());
  CHECK(s.device->failed() == kWriteAttempts);
  const absl::Status refused = s.Write(8);
  CHECK(absl::IsUnavailable(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("read-only"));
  s.CheckAll();
}

TEST_CASE("A device on which more and more goes bad is given up before it runs out of room") {
  Store s("lfs", /*crash_safe=*/true);
  s.device->fail_class = IoClass::kSegmentWrite;  // single pages can be written
  uint64_t written = 0;
  while (s.Write(written % kPages).ok() && written < 10'000) ++written;
  CHECK(written > 16);
  CHECK(written < 10'000);
  CHECK_FALSE(s.store->WriteStatus().ok());
  s.CheckAll();
}

}  // namespace
}  // namespace latchkey::write_again_test
