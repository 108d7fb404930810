// Loads of single pages: what is published, and what is abandoned.
#include "bufferpool/page_loader.h"

#include <catch2/catch.hpp>
#include <vector>

#include "bufferpool/testing/pool_fixture.h"
#include "bufferpool/testing/pool_parts.h"

namespace latchkey::page_loader_test {
namespace {

constexpr uint32_t kFrames = 16;

/// Loads `page` as a fix does that has just looked at its word.
absl::Status Load(PoolParts& parts, PageId page, uint64_t latch = PageState::kFree) {
  PageWord& word = parts.table.WordOf(page);
  return parts.loader.Load(parts.actors.Here(), page, word, word.Read(), LoadCause::kDemand, latch)
      .status();
}

PageIn AnyPageIn() { return GENERATE(PageIn::kBlocking, PageIn::kOptimistic); }

uint64_t DemandReads(PoolParts& parts) {
  return parts.actors.Sum().loads[static_cast<size_t>(LoadCause::kDemand)];
}

TEST_CASE("A loaded page has the latch that was asked for, and counts as a read on demand") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  const PageId page = parts.NewStoredPage();
  const uint64_t reads = DemandReads(parts);
  const uint64_t latch = GENERATE(as<uint64_t>{}, PageState::kFree, 1, PageState::kExclusive);
  REQUIRE(Load(parts, page, latch).ok());
  const PageState state = parts.table.WordOf(page).Read();
  CHECK(state.latch() == latch);
  CHECK(parts.frames.PageOf(state.frame()) == page);
  CHECK_FALSE(parts.frames.IsDirty(state.frame()));
  CHECK(DemandReads(parts) == reads + 1);
}

TEST_CASE("A page that cannot be read is not published, and its frame is free again") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  const PageId page = parts.NewStoredPage();
  parts.store.Damage(page);
  const PageState before = parts.table.WordOf(page).Read();
  CHECK(absl::IsDataLoss(Load(parts, page)));
  CHECK(parts.table.WordOf(page).Read() == before);
  CHECK(parts.policy->free_frames() == kFrames);
}

TEST_CASE("A page that fails the check of the layer above is not published") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  const PageId page = parts.NewStoredPage();
  parts.loader.SetPageCheck([](PageId, std::span<const std::byte>) -> absl::Status {
    return absl::DataLossError("the test refuses every page");
  });
  CHECK(absl::IsDataLoss(Load(parts, page)));
  CHECK_FALSE(parts.table.WordOf(page).Read().resident());
  CHECK(parts.policy->free_frames() == kFrames);
}

TEST_CASE("A page with an LSN beyond the durable log is refused from the end of redo on") {
  PoolParts parts(kFrames);
  FakeLog log;
  parts.log.SetLog(&log);
  const FrameId frame = parts.NewPage();
  const PageId page = parts.frames.PageOf(frame);
  parts.SetLsn(frame, 100);
  REQUIRE(parts.evictor.TryClaimFrame(frame));
  REQUIRE(parts.write_back.WriteVictims(parts.actors.Here(), std::span(&frame, 1)).ok());
  parts.evictor.Remove(frame, 0);
  parts.policy->ReturnFreeFrame(frame);
  parts.loader.RefusePagesBeyondLog();
  CHECK(absl::IsDataLoss(Load(parts, page)));
  REQUIRE(log.EnsureDurable(Lsn{100}).ok());
  CHECK(Load(parts, page).ok());
}

uint64_t FailedPageIns(PoolParts& parts) { return parts.actors.Sum().failed_page_ins; }

TEST_CASE("A page-in that finds the page's word changed gives its frame back, and is counted") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(PageIn::kOptimistic);
  const PageId page = parts.NewStoredPage();
  PageWord& word = parts.table.WordOf(page);
  const PageState seen = word.Read();
  REQUIRE(Load(parts, page).ok());  // another actor is first
  const uint64_t reads = DemandReads(parts);
  const bool was_evicted = GENERATE(false, true);
  if (was_evicted) {
    const FrameId frame = word.Read().frame();
    REQUIRE(parts.evictor.TryClaimFrame(frame));
    parts.evictor.Remove(frame, 0);
    parts.policy->ReturnFreeFrame(frame);
  }
  const size_t free_frames = parts.policy->free_frames();
  const bool is_damaged = GENERATE(false, true);  // a proof that fails then says nothing
  if (is_damaged) parts.store.Damage(page);
  const PageState before = word.Read();
  const absl::StatusOr<FrameId> loaded = parts.loader.Load(
      parts.actors.Here(), page, word, seen, LoadCause::kDemand, PageState::kExclusive);
  REQUIRE(loaded.ok());
  CHECK(*loaded == kNoFrame);
  CHECK(word.Read() == before);
  CHECK(parts.policy->free_frames() == free_frames);
  CHECK(DemandReads(parts) == reads);
  CHECK(FailedPageIns(parts) == 1);
}

TEST_CASE("A page that is announced twice is read ahead once") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  const PageId page = parts.NewStoredPage();
  const std::vector<PageId> pages = {page, page, page};
  const uint64_t reads = parts.store.stats().page_reads;
  parts.loader.LoadAhead(parts.actors.Here(), pages);
  CHECK(parts.store.stats().page_reads == reads + 1);
  CHECK(parts.table.WordOf(page).Read().resident());
  CHECK(FailedPageIns(parts) == 0);
}

TEST_CASE("Loading ahead passes over pages that are resident, being loaded or unreadable") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  std::vector<PageId> pages;
  pages.reserve(4);
  for (int i = 0; i < 4; ++i) pages.push_back(parts.NewStoredPage());
  REQUIRE(Load(parts, pages[0]).ok());
  PageWord& begun = parts.table.WordOf(pages[1]);
  REQUIRE(begun.TryBeginLoad(begun.Read()));
  parts.store.Damage(pages[2]);
  const uint64_t reads = parts.store.stats().page_reads;
  parts.loader.LoadAhead(parts.actors.Here(), pages);
  CHECK(parts.store.stats().page_reads == reads + 2);
  CHECK((begun.Read().exclusive() && !begun.Read().resident()));
  CHECK(parts.table.WordOf(pages[2]).Read().free());
  CHECK_FALSE(parts.table.WordOf(pages[2]).Read().resident());
  CHECK(parts.table.WordOf(pages[3]).Read().resident());
  CHECK(parts.policy->free_frames() == kFrames - 2);
}

TEST_CASE("Loading ahead ends where no frame can be had, and leaves nothing latched") {
  PoolParts parts(kFrames);
  parts.loader.SetPageIn(AnyPageIn());
  std::vector<PageId> pages;
  for (uint32_t i = 0; i < kFrames; ++i) pages.push_back(parts.NewStoredPage());
  for (uint32_t i = 0; i < kFrames - 2; ++i) {
    PageWord& word = parts.WordOf(parts.NewPage());
    REQUIRE(word.TryLatchShared(word.Read()));
  }
  parts.loader.LoadAhead(parts.actors.Here(), pages);
  size_t resident = 0;
  for (const PageId page : pages) {
    const PageState state = parts.table.WordOf(page).Read();
    CHECK(state.free());
    if (state.resident()) ++resident;
  }
  CHECK(resident == 2);
}

TEST_CASE("A zeroed page is exclusively latched, also when it takes the frame of an old page") {
  PoolParts parts(kFrames);
  for (uint32_t i = 0; i < kFrames; ++i) parts.SetLsn(parts.NewPage(), 9);
  const PageId page = *parts.store.AllocatePage();
  PageWord& word = parts.table.WordOf(page);
  REQUIRE(word.TryBeginLoad(word.Read()));
  const absl::StatusOr<FrameId> frame = parts.loader.LoadZeroed(parts.actors.Here(), page, word);
  REQUIRE(frame.ok());
  CHECK(word.Read().exclusive());
  CHECK(word.Read().frame() == *frame);
  CHECK(parts.frames.LsnOf(*frame) == Lsn{0});
}

}  // namespace
}  // namespace latchkey::page_loader_test
