// What the pool knows of a frame: its page, whether it is dirty, and its recLSN.
#include "bufferpool/buffer_frames.h"

#include <catch2/catch.hpp>
#include <limits>

namespace latchkey::buffer_frames_test {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr FrameId kFrame{3};
constexpr Lsn kAnyLsn{std::numeric_limits<uint64_t>::max()};

/// Gives the page in `frame` the LSN of its newest change.
void SetLsn(BufferFrames& frames, FrameId frame, uint64_t lsn) {
  RacyStore<uint64_t>(frames.DataOf(frame) + offsetof(PageHeader, lsn), lsn);
}

/// A change of the page: logged at `lsn`, or not logged when `lsn` is the LSN that it has.
void Change(BufferFrames& frames, FrameId frame, uint64_t lsn) {
  SetLsn(frames, frame, lsn);
  frames.MarkDirty(frame);
  frames.NoteLoggedChange(frame);
}

TEST_CASE("Frames begin empty and clean, each with memory of its own") {
  BufferFrames frames(kPageSize, 4, 8);
  REQUIRE(frames.reserved());
  CHECK(frames.count() == 4);
  CHECK(frames.max_count() == 8);
  for (uint32_t f = 1; f <= 4; ++f) {
    CHECK(frames.IsEmpty(FrameId{f}));
    CHECK_FALSE(frames.IsDirty(FrameId{f}));
    CHECK(frames.DataOf(FrameId{f}) == frames.DataOf(FrameId{1}) + (f - 1) * kPageSize);
  }
}

TEST_CASE("A frame knows its page until the page has left") {
  BufferFrames frames(kPageSize, 4, 4);
  frames.SetPage(kFrame, PageId{77});
  CHECK(frames.PageOf(kFrame) == PageId{77});
  CHECK_FALSE(frames.IsEmpty(kFrame));
  CHECK(frames.IsEmpty(FrameId{2}));
  frames.Clear(kFrame);
  CHECK(frames.IsEmpty(kFrame));
}

TEST_CASE("A frame that is marked dirty twice counts once") {
  BufferFrames frames(kPageSize, 4, 4);
  frames.SetPage(kFrame, PageId{1});
  frames.MarkDirty(kFrame);
  frames.MarkDirty(kFrame);
  frames.MarkDirty(FrameId{1});
  CHECK(frames.dirty_count() == 2);
  frames.MarkClean(kFrame);
  frames.MarkClean(kFrame);
  CHECK(frames.dirty_count() == 1);
  CHECK_FALSE(frames.IsDirty(kFrame));
}

TEST_CASE("The recLSN of a frame is the first logged change since it was clean") {
  BufferFrames frames(kPageSize, 4, 4);
  SetLsn(frames, kFrame, 50);
  frames.SetPage(kFrame, PageId{1});
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, kAnyLsn, false));
  Change(frames, kFrame, 100);
  Change(frames, kFrame, 200);
  CHECK(frames.HoldsChangeBefore(kFrame, Lsn{101}, false));
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, Lsn{100}, false));
  frames.MarkClean(kFrame);
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, kAnyLsn, true));
  Change(frames, kFrame, 300);
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, Lsn{300}, false));
  CHECK(frames.HoldsChangeBefore(kFrame, Lsn{301}, false));
}

TEST_CASE("A change that is not logged counts by the page's LSN, and only if it is asked for") {
  BufferFrames frames(kPageSize, 4, 4);
  SetLsn(frames, kFrame, 50);
  frames.SetPage(kFrame, PageId{1});
  Change(frames, kFrame, 50);
  CHECK(frames.HoldsChangeBefore(kFrame, kAnyLsn, false));
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, Lsn{60}, false));
  CHECK(frames.HoldsChangeBefore(kFrame, Lsn{60}, true));
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, Lsn{50}, true));
  Change(frames, kFrame, 70);  // the first logged change decides from now on
  CHECK_FALSE(frames.HoldsChangeBefore(kFrame, Lsn{60}, true));
}

TEST_CASE("Frames that were discarded come back empty, clean and zeroed") {
  BufferFrames frames(kPageSize, 4, 4);
  SetLsn(frames, FrameId{4}, 9);
  frames.SetPage(FrameId{4}, PageId{1});
  frames.Clear(FrameId{4});
  frames.SetCount(2);
  frames.DiscardUpTo(FrameId{4});
  CHECK(frames.count() == 2);
  frames.PrepareGrowth(4);
  frames.SetCount(4);
  CHECK(frames.IsEmpty(FrameId{4}));
  CHECK_FALSE(frames.IsDirty(FrameId{4}));
  CHECK(frames.LsnOf(FrameId{4}) == Lsn{0});
}

}  // namespace
}  // namespace latchkey::buffer_frames_test
