// Compressed pages that share blocks: a page is written when all of its blocks are.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "layout/testing/store_on_memory.h"
#include "layout/write/segment_writer.h"
#include "storage/device/testing/forwarding_device.h"

namespace latchkey::shared_blocks_test {
namespace {

constexpr StoreGeometry kGeometry = StoreGeometry::Of(4096, 64 << 10, kSlotsOfCompressed);
constexpr LogId kLog = LogOf(SegmentKind::kHot, /*of_cleaner=*/false, 0);

// A device with queues that complete the last request first. Parts of a segment may fail.
class LastFirst final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  /// The parts that begin with these blocks fail.
  std::vector<uint32_t> failing_blocks;
  std::function<void(const IoRequest&)> before_completion = [](const IoRequest&) {};
  std::vector<uint64_t> single_writes;  // their offsets

  absl::Status Write(uint64_t offset, std::span<const std::byte> data, IoClass c) override {
    single_writes.push_back(offset);
    return ForwardingDevice::Write(offset, data, c);
  }
  absl::StatusOr<std::unique_ptr<IoQueue>> NewQueue(uint32_t depth) override {
    return std::make_unique<Queue>(*this, *ForwardingDevice::NewQueue(depth));
  }

 private:
  class Queue final : public IoQueue {
   public:
    Queue(LastFirst& owner, std::unique_ptr<IoQueue> queue)
        : owner_(owner), queue_(std::move(queue)) {}
    void Submit(std::span<IoRequest* const> requests) override {
      queue_->Submit(requests);
      queue_->Wait(requests.size(), done_);
    }
    void Wait(size_t minimum, std::vector<IoRequest*>& completed) override {
      for (size_t i = 0; i < minimum; ++i) {
        IoRequest* const request = done_.back();
        const uint64_t block = (request->offset - kGeometry.OffsetOf(SegmentId{0})) / 4096;
        if (std::ranges::find(owner_.failing_blocks, block) != owner_.failing_blocks.end()) {
          request->status = absl::UnavailableError("EIO on purpose");
        }
        owner_.before_completion(*request);
        completed.push_back(request);
        done_.pop_back();
      }
    }
    size_t in_flight() const override { return done_.size(); }

   private:
    LastFirst& owner_;
    const std::unique_ptr<IoQueue> queue_;
    std::vector<IoRequest*> done_;
  };
};

// Pages of five slots each: every second one begins in one block and ends in the next.
class SharedBlocks {
 public:
  static constexpr uint32_t kSlots = 5;

  SharedBlocks() {
    REQUIRE(device_.Resize(kGeometry.FileBytes(8)).ok());
    REQUIRE(directory_.segments().Grow(8));
  }
  void Append(uint32_t count, PagesOfWriter* pages = nullptr) {
    const std::vector<std::byte> image(kSlots * kGeometry.slot_size() - 1);
    TestPage page;
    for (uint32_t i = 0; i < count; ++i) {
      const PageId id = *directory_.map().Allocate();
      page.Fill(id, 1);
      REQUIRE(writer_.Append(kLog, Claim::kUser, {id, page.data(), image, kSlots}, pages));
    }
  }
  bool IsWritten(uint64_t page) { return directory_.map().Load(PageId{page}).on_device(); }
  LastFirst& device() { return device_; }
  SegmentWriter& writer() { return writer_; }

 private:
  LastFirst device_{NewTestDevice()};
  StoreCore core_{ThreadRuntime(), device_, kGeometry, /*database_id=*/1, {}};
  PageDirectory directory_{core_};
  SpaceManager space_{directory_, SpaceSizing::Make(kGeometry, 0.8, 0)};
  SegmentWriter writer_{directory_, space_, StoreBuffers::kFullSegmentBuffers,
                        /*part_slots=*/kSlotsOfCompressed};
};

TEST_CASE("A block that is not full stays in memory until further pages fill it") {
  SharedBlocks blocks;
  PagesOfWriter pages;
  blocks.Append(2, &pages);  // ten slots
  CHECK(pages.gathering == 1);
  blocks.writer().WriteOutUserParts();
  CHECK(blocks.IsWritten(0));
  CHECK_FALSE(blocks.IsWritten(1));
  blocks.Append(2, &pages);
  CHECK(pages.gathering == 1);
  blocks.writer().WriteOutUserParts();
  CHECK((blocks.IsWritten(1) && blocks.IsWritten(2)));
  CHECK_FALSE(blocks.IsWritten(3));
  blocks.writer().WriteOutUserLogs();
  CHECK(blocks.IsWritten(3));
  CHECK((pages.gathering == 0 && pages.unwritten == 0));
}

TEST_CASE("A page in two parts of a segment is written when both are, in either order") {
  SharedBlocks blocks;
  blocks.Append(2);
  blocks.writer().StartUserParts();
  blocks.Append(2);
  blocks.writer().StartUserParts();
  int completions = 0;
  blocks.device().before_completion = [&](const IoRequest&) {
    ++completions;
    for (uint64_t page = 0; page < 4; ++page) CHECK_FALSE(blocks.IsWritten(page));
  };
  blocks.writer().WriteOutUserParts();
  CHECK(completions == 2);
  CHECK((blocks.IsWritten(0) && blocks.IsWritten(1) && blocks.IsWritten(2)));
}

TEST_CASE(
    "A page that gathers counts for its own writer until the block is full or the segment ends") {
  SharedBlocks blocks;
  PagesOfWriter mine, other;
  blocks.Append(2, &mine);
  CHECK((mine.gathering == 1 && other.gathering == 0));
  blocks.Append(1, &other);
  CHECK((mine.gathering == 1 && other.gathering == 1));
  blocks.Append(1, &other);  // fills the second block, and begins the third one
  CHECK((mine.gathering == 0 && other.gathering == 1));
  blocks.writer().EndLogsFrom(SegmentId{0});
  CHECK((mine.gathering == 0 && other.gathering == 0));
  blocks.writer().WriteOutUserLogs();
  CHECK((mine.unwritten == 0 && other.unwritten == 0));
}

TEST_CASE("A page is written again, once, if one of its two blocks or both could not be written") {
  SharedBlocks blocks;
  const auto failing = GENERATE(as<std::vector<uint32_t>>{}, std::vector<uint32_t>{0},
                                std::vector<uint32_t>{1}, std::vector<uint32_t>{0, 1});
  CAPTURE(failing);
  blocks.device().failing_blocks = failing;
  blocks.Append(2);
  blocks.writer().StartUserParts();
  blocks.Append(2);
  blocks.writer().StartUserParts();
  blocks.writer().WriteOutUserParts();
  CHECK((blocks.IsWritten(0) && blocks.IsWritten(1) && blocks.IsWritten(2)));
  // Pages 0 and 1, or 1 and 2, or all three.
  CHECK(blocks.device().single_writes.size() == failing.size() + 1);
}

}  // namespace
}  // namespace latchkey::shared_blocks_test
