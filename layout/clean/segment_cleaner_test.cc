// The segment cleaner alone: its sink and its durable map are the test's.
#include "layout/clean/segment_cleaner.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "layout/testing/directory_on_memory.h"

namespace latchkey::segment_cleaner_test {
namespace {

constexpr StoreGeometry kGeometry = DirectoryOnMemory::kGeometry;
constexpr uint32_t kSegments = 44, kUsed = 40, kLivePerSegment = 8;
constexpr uint64_t kTwoVictims = 2 * kLivePerSegment * 4096;  // bytes of a pass

class FakeDurableMap final : public DurableMap {
 public:
  bool is_unclean() const override { return unclean.load(); }
  absl::Status TryMakeDurable() override { return absl::OkStatus(); }
  void CheckpointIfWanted() override { ++turns; }
  std::atomic<bool> unclean{true};
  std::atomic<int> turns{0};  // of the actor
};

// Writes moved pages to segments of its own.
class FakeSink final : public MoveSink {
 public:
  explicit FakeSink(DirectoryOnMemory& directory)
      : directory_(directory), group_(directory->frames().NewGroup(256)) {}

  std::optional<FrameIndex> BeginMove(SegmentKind kind, PageId page, LocationWord word) override {
    if (used_ % kGeometry.slots_per_segment == 0) {
      const auto segment = directory_->segments().TakeFree(/*keep=*/0, kind);
      if (!segment) return std::nullopt;
      open_ = *segment;
      taken_.push_back(open_);
    }
    CopyFrame& frame = group_->frames[moves_.size()];
    frame.page = page;
    frame.sequence = word.sequence();
    frame.moved = true;
    frame.target = kGeometry.SlotAt(open_, used_++ % kGeometry.slots_per_segment);
    frame.durable_word.store(word.bits());
    directory_->segments().AssignSlot(frame.target, page, 1);
    moves_.push_back(group_->IndexOf(static_cast<uint32_t>(moves_.size())));
    return moves_.back();
  }
  void FinishMove(FrameIndex frame, bool valid) override {
    if (valid) moved_pages.insert(directory_->frames().Frame(frame).page);
    if (!valid) directory_->frames().Frame(frame).page = kInvalidPageId;
    moved += valid;
  }
  InPlaceProtection protection() const override { return InPlaceProtection::kNone; }
  void CompleteWrites() override {}
  void WriteOutMoves() override {
    for (const FrameIndex frame : moves_) directory_.WriteOut(frame);
    for (const SegmentId segment : taken_) directory_->segments().Close(segment, /*birth=*/0);
    moves_.clear();
    taken_.clear();
    used_ = 0;
    if (written_out) written_out();
  }
  void StartUserWrites() override { ++started; }
  void EndLogsFrom(SegmentId) override {}
  std::function<void()> written_out;  // is called when moves have been written out
  std::set<PageId> moved_pages;
  std::atomic<int> moved{0};
  std::atomic<int> started{0};  // writes of users' pages

 private:
  DirectoryOnMemory& directory_;
  FrameGroup* const group_;
  std::vector<FrameIndex> moves_;
  std::vector<SegmentId> taken_;
  SegmentId open_{};
  uint32_t used_ = 0;
};

// A file that is short of free segments: most are half full. Or only the first `half_full` are, kFull are
// full, and checkpoints have the others.
struct Cleaning {
  explicit Cleaning(uint64_t bytes_of_a_pass = uint64_t{20} << 20, uint32_t victims_at_once = 1,
                    std::string_view policy_name = "greedy", uint32_t half_full = kUsed)
      : pass_bytes(bytes_of_a_pass), victims(victims_at_once), policy(policy_name) {
    constexpr uint32_t kFull = 17;
    for (uint32_t s = 0; s < kUsed; ++s) {
      if (half_full < kUsed && s >= half_full + kFull) {
        REQUIRE(directory->segments().TakeMeta(0));
        continue;
      }
      const SegmentId segment = directory.OpenSegment();
      const uint32_t live = s < half_full ? kLivePerSegment : kGeometry.slots_per_segment;
      for (uint32_t i = 0; i < live; ++i) {
        const PageId page = *directory->map().Allocate();
        directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segment, i), 1));
        ++pages;
      }
      directory->segments().Close(segment, directory->clock());
    }
  }
  void CheckPages() {
    TestPage page;
    for (uint64_t i = 0; i < pages; ++i) {
      CAPTURE(i);
      const LocationWord word = directory->map().Load(PageId{i});
      REQUIRE(word.on_device());
      CHECK(directory->segments().OwnerOf(word.slot()) == PageId{i});
      REQUIRE(directory.device()
                  .Read(kGeometry.OffsetOf(word.slot()), {page.data(), 4096}, IoClass::kPageRead)
                  .ok());
      CHECK(directory->Prove(PageId{i}, word, {page.data(), 4096}).ok());
      CHECK(page.Holds(PageId{i}, 1));
    }
  }
  /// Then a pass of two victims does not gain enough.
  void TakeTwoFree() {
    for (int i = 0; i < 2; ++i) REQUIRE(directory->segments().TakeMeta(0));
  }
  /// In a pass of two victims: whether the cleaner has taken those of the next pass, too.
  bool LoadsAhead() { return CountInCleaning() > 2; }
  uint32_t CountInCleaning() {
    uint32_t count = 0;
    for (uint32_t s = 0; s < kSegments; ++s) {
      count += directory->segments().StateOf(SegmentId{s}) == SegmentState::kCleaning;
    }
    return count;
  }
  void Await(absl::FunctionRef<bool()> done) {
    Backoff backoff(ThreadRuntime());
    while (!done()) backoff.Pause();
  }
  void CleanUntilEnough() {
    REQUIRE(space.WantsCleaning());
    REQUIRE(cleaner.Start().ok());
    space.Signal();
    Await([&] { return !space.WantsCleaning(); });
    cleaner.Stop();
  }
  /// Three passes are enough.
  void CleanUntilPagesMove() {
    REQUIRE(space.WantsCleaning());
    REQUIRE(cleaner.Start().ok());
    for (int pass = 1; pass <= 3 && sink.moved == 0; ++pass) {
      space.Signal();
      Await([&] { return durable_map.turns >= pass; });
    }
    cleaner.Stop();
  }

  const uint64_t pass_bytes;
  const uint32_t victims;
  const std::string_view policy;
  uint64_t pages = 0;
  DirectoryOnMemory directory{/*with_journal=*/false, kSegments};
  // So low that the file need not shrink: that would empty segments that moves have filled.
  SpaceManager space{*directory, SpaceSizing::Make(kGeometry, 0.7, 0)};
  std::unique_ptr<Separator> separator = Layouts().Named("lfs").Make(ThreadRuntime());
  CostMeter costs{ThreadRuntime(), directory.device(), kGeometry, *TestOptions().assumed_costs};
  FakeSink sink{directory};
  FakeDurableMap durable_map;
  SegmentCleaner cleaner{{.directory = *directory,
                          .space = space,
                          .sink = sink,
                          .durable_map = durable_map,
                          .separator = *separator,
                          .costs = costs,
                          .victims_at_once = victims,
                          .pass_bytes = pass_bytes},
                         CleaningPolicies().Named(policy).Make()};
};

// Passes of four short segments took the cleaner a fifth of its time in syncs. In a file of 30 segments
// passes of 16 left checkpoints without a free one.
TEST_CASE("A pass gains a mebibyte of short segments, and few of a small file") {
  constexpr auto GainOfPass = SegmentCleaner::GainOfPass;
  CHECK(GainOfPass(64 << 10, 16) == 16);
  CHECK(GainOfPass(128 << 10, 16) == 8);
  CHECK(GainOfPass(128 << 10, 6) == 6);
  CHECK(GainOfPass(64 << 10, 2) == 4);
  CHECK(GainOfPass(2 << 20, 16) == 4);
  CHECK(GainOfPass(64 << 20, 16) == 4);
}

TEST_CASE("The cleaner frees segments until there are enough, and every page keeps its content") {
  const uint32_t victims_at_once = GENERATE(1u, 3u, 8u);
  CAPTURE(victims_at_once);
  Cleaning c(uint64_t{20} << 20, victims_at_once);
  c.CleanUntilEnough();
  CHECK(c.sink.moved > 0);
  CHECK(*c.cleaner.cleaning_utilization() <= 0.5);
  c.CheckPages();
}

// A pass moves 20 MiB. With segments of 32 and 64 MiB every victim had more, and none was emptied.
TEST_CASE("A victim with more live pages than a pass moves is emptied, if it is the first") {
  Cleaning c((kLivePerSegment - 1) * 4096);
  c.CleanUntilPagesMove();
  CHECK(c.sink.moved > 0);
  c.CheckPages();
}

// A pass of the cleaner ended at the first victim whose pages all had newer copies in memory. Under
// skewed writes the emptiest segments are such victims. So the cleaner gained too few segments, and
// LFS wrote up to two thirds of its pages in place.
TEST_CASE("The cleaner passes over a victim whose pages all have newer copies in memory") {
  Cleaning c;
  constexpr uint32_t kInMemory = 2 * kLivePerSegment;
  const SegmentId open = c.directory.OpenSegment();
  for (uint32_t i = 0; i < kInMemory; ++i) {
    c.directory.Accept(PageId{i}, kGeometry.SlotAt(open, i), 2);
  }
  c.CleanUntilPagesMove();
  CHECK(c.sink.moved > 0);
}

// The newer copies gathered in the log of a file that was too large. Nothing wrote them, so the file
// kept its size until users had filled their part of the segment.
TEST_CASE("A file that is to shrink has the pages written that keep its last segment in use") {
  DirectoryOnMemory directory(/*with_journal=*/false, kSegments);
  std::vector<SegmentId> segments;
  for (uint32_t s = 0; s < kSegments; ++s) segments.push_back(directory.OpenSegment());
  for (uint32_t i = 0; i < kLivePerSegment; ++i) {
    const PageId page = *directory->map().Allocate();
    directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segments.back(), i), 1));
    directory.Accept(page, kGeometry.SlotAt(segments.front(), i), 2);
  }
  for (const SegmentId segment : segments) {
    if (segment != segments.front()) directory->segments().Close(segment, directory->clock());
  }
  SpaceManager space(*directory, SpaceSizing::Make(kGeometry, 0.7, 0));
  REQUIRE(space.WantsShrink());
  CostMeter costs(ThreadRuntime(), directory.device(), kGeometry, *TestOptions().assumed_costs);
  const auto separator = Layouts().Named("lfs").Make(ThreadRuntime());
  FakeSink sink(directory);
  FakeDurableMap durable_map;
  SegmentCleaner cleaner({.directory = *directory,
                          .space = space,
                          .sink = sink,
                          .durable_map = durable_map,
                          .separator = *separator,
                          .costs = costs},
                         CleaningPolicies().Named("greedy").Make());
  REQUIRE(cleaner.Start().ok());
  Backoff backoff(ThreadRuntime());
  while (durable_map.turns == 0) backoff.Pause();
  cleaner.Stop();
  CHECK(sink.started > 0);
  CHECK(sink.moved == 0);
}

// The victims were plugged together, and a victim's own holes are hidden: each pass found none.
TEST_CASE("Victims that have all the holes of the file plug those of each other") {
  Cleaning c(uint64_t{20} << 20, /*victims_at_once=*/8, "hole-plugging", /*half_full=*/3);
  REQUIRE(c.space.WantsCleaning());
  REQUIRE(c.cleaner.Start().ok());
  for (int pass = 1; pass <= 3; ++pass) {
    c.space.Signal();
    c.Await([&] { return c.durable_map.turns >= pass; });
  }
  c.cleaner.Stop();
  CHECK(c.directory->core().counters.plugged_segments > 0);
  c.CheckPages();
}

// The cleaner used to wait for the reads of its victims and for its writes and syncs in turn, while
// users waited for free segments and the device was idle.
TEST_CASE("If users wait, the cleaner takes the victims of its next pass before it ends one") {
  bool loads = false;
  Cleaning c(kTwoVictims, /*victims_at_once=*/2);
  c.TakeTwoFree();
  c.sink.written_out = [&] { loads = loads || c.LoadsAhead(); };
  c.CleanUntilEnough();
  CHECK(loads);
  CHECK(c.CountInCleaning() == 0);
  c.CheckPages();
}

TEST_CASE("In a small file the victims of the next pass keep their holes until this one ends") {
  constexpr uint32_t kVictims = 8;  // a fifth of the file
  uint32_t most = 0;
  Cleaning c(kVictims * kTwoVictims / 2, kVictims);
  c.TakeTwoFree();
  c.sink.written_out = [&] { most = std::max(most, c.CountInCleaning()); };
  c.CleanUntilEnough();
  CHECK(most > 0);
  CHECK(most <= kVictims);
  c.CheckPages();
}

TEST_CASE("A file that is closed cleanly while the cleaner loads victims gets them back") {
  std::atomic<bool> closed = false;
  Cleaning c(kTwoVictims, /*victims_at_once=*/2);
  c.TakeTwoFree();
  c.sink.written_out = [&] {
    if (!c.LoadsAhead()) return;
    c.durable_map.unclean = false;
    closed = true;
  };
  REQUIRE(c.cleaner.Start().ok());
  c.space.Signal();
  c.Await([&] { return closed || !c.space.WantsCleaning(); });
  REQUIRE(closed);
  const int turns = c.durable_map.turns;
  c.Await([&] {
    c.space.Signal();
    return c.durable_map.turns > turns + 1;
  });
  CHECK(c.CountInCleaning() == 0);
  c.CheckPages();
}

TEST_CASE("A cleaner that is stopped while it loads victims gives them back") {
  std::atomic<bool> loads = false;
  Cleaning c(kTwoVictims, /*victims_at_once=*/2);
  c.TakeTwoFree();
  c.sink.written_out = [&] {
    if (!c.LoadsAhead()) return;
    const uint32_t before = c.space.work_sequence();
    loads = true;
    c.Await([&] { return c.space.work_sequence() != before; });  // Stop signals
  };
  REQUIRE(c.cleaner.Start().ok());
  c.space.Signal();
  c.Await([&] { return loads || !c.space.WantsCleaning(); });
  REQUIRE(loads);
  c.cleaner.Stop();
  CHECK(c.CountInCleaning() == 0);
  c.CheckPages();
}

TEST_CASE("A page that is written again while the cleaner loads it is not moved") {
  std::optional<PageId> rewritten;
  Cleaning c(kTwoVictims, /*victims_at_once=*/2);
  c.TakeTwoFree();
  const SegmentId open = c.directory.OpenSegment();
  c.sink.written_out = [&] {
    for (uint64_t i = 0; i < c.pages && !rewritten; ++i) {
      const LocationWord word = c.directory->map().Load(PageId{i});
      if (!word.on_device()) continue;
      const SegmentId segment = kGeometry.SegmentOf(word.slot());
      if (c.directory->segments().StateOf(segment) != SegmentState::kCleaning) continue;
      c.directory.Accept(PageId{i}, kGeometry.SlotAt(open, 0), 2);
      rewritten = PageId{i};
    }
  };
  c.CleanUntilEnough();
  REQUIRE(rewritten);
  CHECK_FALSE(c.sink.moved_pages.contains(*rewritten));
}

TEST_CASE("The cleaner moves nothing while the file is closed cleanly") {
  Cleaning c;
  c.durable_map.unclean = false;
  REQUIRE(c.cleaner.Start().ok());
  for (int turns = 1; turns <= 3; ++turns) {
    c.space.Signal();
    c.Await([&] { return c.durable_map.turns >= turns; });
  }
  CHECK(c.sink.moved == 0);
  CHECK(c.space.WantsCleaning());
  c.durable_map.unclean = true;
  c.space.Signal();
  c.Await([&] { return !c.space.WantsCleaning(); });
  c.cleaner.Stop();
  c.CheckPages();
}

// The cleaner looked at its stop mark, and only then at the number of signals. A stop between both was
// missed: the cleaner slept for ever, and so did the close of the database.
TEST_CASE("A cleaner that is stopped at any moment of its first round ends") {
  Cleaning c;
  c.durable_map.unclean = false;
  for (int i = 0; i < 300; ++i) {
    SegmentCleaner cleaner({.directory = *c.directory,
                            .space = c.space,
                            .sink = c.sink,
                            .durable_map = c.durable_map,
                            .separator = *c.separator,
                            .costs = c.costs},
                           CleaningPolicies().Named("greedy").Make());
    REQUIRE(cleaner.Start().ok());
    const int turns = c.durable_map.turns;
    if (i % 3 == 0) c.Await([&] { return c.durable_map.turns > turns; });
    for (int pause = 0; pause < i % 50; ++pause) c.space.Signal();
    cleaner.Stop();
  }
}

}  // namespace
}  // namespace latchkey::segment_cleaner_test
