// Compressed pages that share blocks: a page is written when all of its blocks are.
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

// A device whose queues complete the last request first. The first part of a segment may fail.
class LastFirst final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  bool fails_first_part = false;
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
        const bool is_first = request->offset == kGeometry.OffsetOf(SegmentId{0});
        if (is_first && owner_.fails_first_part) {
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
  void Append(uint32_t count) {
    const std::vector<std::byte> image(kSlots * kGeometry.slot_size() - 1);
    TestPage page;
    for (uint32_t i = 0; i < count; ++i) {
      const PageId id = *directory_.map().Allocate();
      page.Fill(id, 1);
      REQUIRE(writer_.Append(kLog, Claim::kUser, {id, page.data(), image, kSlots}, nullptr));
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
  SegmentWriter writer_{directory_, space_, StoreBuffers::kFullSegmentBuffers};
};

TEST_CASE("A block that is not full stays in memory until further pages fill it") {
  SharedBlocks blocks;
  blocks.Append(2);  // ten slots
  CHECK(blocks.writer().gathering_pages() == 1);
  blocks.writer().WriteOutUserBlocks();
  CHECK(blocks.IsWritten(0));
  CHECK_FALSE(blocks.IsWritten(1));
  blocks.Append(2);
  CHECK(blocks.writer().gathering_pages() == 1);
  blocks.writer().WriteOutUserBlocks();
  CHECK((blocks.IsWritten(1) && blocks.IsWritten(2)));
  CHECK_FALSE(blocks.IsWritten(3));
  blocks.writer().WriteOutUserLogs();
  CHECK(blocks.IsWritten(3));
  CHECK(blocks.writer().gathering_pages() == 0);
}

TEST_CASE("A page in two parts of a segment is written when both are, in whatever order they end") {
  SharedBlocks blocks;
  blocks.Append(2);
  blocks.writer().StartUserBlocks();
  blocks.Append(2);
  blocks.writer().StartUserBlocks();
  int completions = 0;
  blocks.device().before_completion = [&](const IoRequest&) {
    ++completions;
    for (uint64_t page = 0; page < 4; ++page) CHECK_FALSE(blocks.IsWritten(page));
  };
  blocks.writer().WriteOutUserBlocks();
  CHECK(completions == 2);
  CHECK((blocks.IsWritten(0) && blocks.IsWritten(1) && blocks.IsWritten(2)));
}

TEST_CASE("A page whose first block could not be written is written again with its second block") {
  SharedBlocks blocks;
  blocks.device().fails_first_part = true;
  blocks.Append(2);
  blocks.writer().StartUserBlocks();
  blocks.Append(2);
  blocks.writer().StartUserBlocks();
  blocks.writer().WriteOutUserBlocks();
  CHECK((blocks.IsWritten(0) && blocks.IsWritten(1) && blocks.IsWritten(2)));
  CHECK(blocks.device().single_writes.size() == 2);  // pages 0 and 1
}

}  // namespace
}  // namespace latchkey::shared_blocks_test
