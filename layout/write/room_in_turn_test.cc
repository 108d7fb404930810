// Room in doublewrite batches goes to writers in the order in which they asked for it. Without an
// order a writer that had just written took the room of a batch again, and others waited for many
// batches.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/device/device_list.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::room_in_turn_test {
namespace {

constexpr uint32_t kBatch = 8;
constexpr uint32_t kPagesEach = 64;  // so many that no page is written again while in a batch

// The doublewriter makes one sync for each batch. (Statistics of a simulated device take a latch, and
// in this crowd waiting for it takes as long as several batches.)
class SyncCounter final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::Status Sync() override {
    syncs_.fetch_add(1, std::memory_order_relaxed);
    return ForwardingDevice::Sync();
  }
  uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> syncs_{0};
};

// Writers that own kPagesEach pages each, and write over them one after the other.
class WritersInLine {
 public:
  WritersInLine(SimulatedRuntime& runtime, uint32_t writers) : runtime_(runtime), count_(writers) {
    SegmentStoreOptions options = TestOptions("overwrite");
    options.doublewrite_pages = kBatch + 1;
    auto device = OpenDeviceOf(runtime, *ParseDeviceSpec("flash"), "data");
    auto journal = OpenDeviceOf(runtime, *ParseDeviceSpec("flash"), "journal");
    REQUIRE((device.ok() && journal.ok()));
    auto counter = std::make_unique<SyncCounter>(*std::move(device));
    device_ = counter.get();
    auto opened = OpenSegmentStore(runtime, std::move(counter), *std::move(journal), options);
    REQUIRE(opened.ok());
    store_ = std::move(opened->store);
    for (uint32_t i = 0; i < writers * kPagesEach; ++i) ids_.push_back(*store_->AllocatePage());
    auto writer = store_->NewWriter(1);
    REQUIRE(writer.ok());
    for (uint32_t i = 0; i < ids_.size(); ++i) Write(**writer, i, 1);
    REQUIRE(store_->Flush().ok());
  }

  /// Each writer hands over `pages` pages at once, `times` times. Returns the most batches that one
  /// of them saw go out meanwhile.
  uint64_t MostBatchesOfOneWait(uint32_t pages, uint32_t times) {
    std::vector<uint64_t> most(count_, 0);
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint32_t who = 0; who < count_; ++who) {
      actors.push_back(runtime_.Spawn("writer", [this, &most, who, pages, times] {
        Rng rng(who + 1);
        auto writer = store_->NewWriter(64);
        REQUIRE(writer.ok());
        for (uint32_t i = 0; i < times; ++i) {
          const uint64_t before = Batches();
          Write(**writer, who * kPagesEach + i * pages % kPagesEach, pages);
          most[who] = std::max(most[who], Batches() - before);
          runtime_.SleepFor(static_cast<Nanos>(rng.Below(20 * kNanosPerMicro)));
        }
      }));
    }
    for (auto& actor : actors) actor->Join();
    return *std::ranges::max_element(most);
  }
  SegmentStore& store() { return *store_; }

 private:
  uint64_t Batches() const { return device_->syncs(); }
  void Write(PageWriter& writer, uint32_t first, uint32_t pages) {
    std::vector<TestPage> copies(pages);
    std::vector<PageWrite> writes;
    for (uint32_t i = 0; i < pages; ++i) {
      copies[i].Fill(ids_[first + i], 1);
      writes.push_back({.id = ids_[first + i], .data = copies[i].data()});
    }
    REQUIRE(writer.Submit(writes, nullptr).ok());
    REQUIRE(writer.Wait(0).ok());
  }

  SimulatedRuntime& runtime_;
  const uint32_t count_;
  std::unique_ptr<SegmentStore> store_;
  SyncCounter* device_ = nullptr;  // of the store
  std::vector<PageId> ids_;
};

TEST_CASE("A writer waits for no more batches than the writers before it fill") {
  constexpr uint32_t kWriters = 48;
  const uint32_t pages = GENERATE(1u, 4u);
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 2 : 4));
  CAPTURE(pages, seed);
  SimulatedRuntime runtime({.seed = seed, .preempt_probability = .01});
  const absl::Status ran = runtime.Run([&] {
    WritersInLine line(runtime, kWriters);
    const uint64_t most = line.MostBatchesOfOneWait(pages, kSanitizer ? 60 : 200);
    const uint64_t before_it = (kWriters - 1) * pages / kBatch;
    // The three batches that were full when it came, and its own.
    CHECK(most <= before_it + 4);
    CHECK(most >= before_it / 2);  // there was a line
    REQUIRE(line.store().Flush().ok());
  });
  REQUIRE(ran.ok());
}

}  // namespace
}  // namespace latchkey::room_in_turn_test
