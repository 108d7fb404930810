#include "bufferpool/ahead_share.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "storage/base/rng.h"

namespace latchkey::ahead_share_test {
namespace {

void NoteWindow(AheadShare& share, uint32_t wasted) {
  for (uint32_t i = 0; i < wasted; ++i) share.NoteWasted();
  for (uint32_t i = 0; i < AheadShare::kWindow; ++i) share.NoteRead();
}

TEST_CASE("All missing pages are read ahead while few of those reads are wasted") {
  AheadShare share;
  for (int window = 0; window < 10; ++window) NoteWindow(share, AheadShare::kWindow / 8);
  CHECK_FALSE(share.is_limited());
  CHECK(share.Of(0) == 0);
  CHECK(share.Of(77) == 77);
}

TEST_CASE("Wasted reads lower the share in proportion, and reads that are used raise it again") {
  AheadShare share;
  NoteWindow(share, AheadShare::kWindow * 3 / 4);
  CHECK(share.is_limited());
  CHECK(share.Of(64) == 16);
  for (int window = 0; window < 12; ++window) NoteWindow(share, 0);
  CHECK(share.Of(64) == 64);
}

TEST_CASE("However many reads were wasted, one page of each announcement is read") {
  AheadShare share;
  for (int window = 0; window < 5; ++window) NoteWindow(share, 3 * AheadShare::kWindow);
  CHECK(share.Of(200) == 1);
  CHECK(share.Of(1) == 1);
  CHECK(share.Of(0) == 0);
}

// S3-FIFO keeps a tenth of the frames for pages that were used once at most. Users who announce
// more than that evict each other's pages before the first fix.
TEST_CASE(
    "Users who announce more pages than the algorithm keeps unused do not read them in vain") {
  constexpr size_t kFrames = 200, kPages = 2000, kUsers = 8, kAnnounced = 32;
  const std::string replacement = GENERATE("s3-fifo", "mq", "2q", "w-tinylfu");
  INFO(replacement);
  PoolFixture f(kFrames, replacement);
  std::vector<PageId> pages;
  for (size_t i = 0; i < kPages; ++i) pages.push_back(f.NewPage(i));
  Rng rng(7);
  const auto run = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<PageId> wanted[kUsers];
      for (auto& announced : wanted) {
        for (size_t i = 0; i < kAnnounced; ++i) announced.push_back(pages[rng.Below(kPages)]);
        f.pool->Prefetch(f.pool->Here(), announced);
      }
      for (size_t i = 0; i < kAnnounced; ++i) {
        for (const auto& announced : wanted) f.ReadShared(announced[i]);
      }
    }
  };
  run(30);
  const BufferPoolStats before = f.pool->stats();
  run(60);
  const BufferPoolStats after = f.pool->stats();
  const uint64_t wasted = after.wasted_reads - before.wasted_reads;
  const uint64_t demanded = after.demand_reads - before.demand_reads;
  CHECK(wasted * 10 < demanded);
}

}  // namespace
}  // namespace latchkey::ahead_share_test
