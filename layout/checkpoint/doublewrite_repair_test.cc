// A doublewrite area keeps its pages over a crash. A crash took back the allocation of a page, but
// not the copy of the page in an area. The store gave the id out again and counted its writes from
// the beginning. After the next crash the repair took the old copy for a later write, and wrote it
// over a page that had been flushed.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "layout/segment_store.h"
#include "layout/testing/crashing_store.h"
#include "layout/testing/store_on_memory.h"
#include "storage/base/rng.h"
#include "storage/device/testing/crash_device.h"

namespace latchkey::doublewrite_repair_test {
namespace {

// One life of a store on two devices, which ends when the power fails.
class Life {
 public:
  Life(std::vector<std::byte> data, std::vector<std::byte> journal)
      : store_(Open(std::move(data), std::move(journal))), writer_(*store_->NewWriter(8)) {}

  SegmentStore& store() { return *store_; }
  void Write(PageId id, uint64_t version) {
    page_.Fill(id, version);
    const PageWrite write{id, page_.data()};
    size_t accepted = 0;
    REQUIRE(writer_->Submit({&write, 1}, &accepted).ok());
  }
  bool Holds(PageId id, uint64_t version) {
    const absl::Status read = store_->ReadPage(id, page_.data());
    INFO(read);
    REQUIRE(read.ok());
    return page_.Holds(id, version);
  }
  /// Nothing is left but what was synced.
  void FailPower(std::vector<std::byte>* data, std::vector<std::byte>* journal) {
    power_.FailAfter(0);
    device_->Sync().IgnoreError();
    Rng rng(1);
    *data = power_.image(0).AfterCrash(Damage::kLoseAll, rng);
    *journal = power_.image(1).AfterCrash(Damage::kLoseAll, rng);
  }

 private:
  std::unique_ptr<SegmentStore> Open(std::vector<std::byte> data, std::vector<std::byte> journal) {
    auto data_device = power_.NewDevice(std::move(data));
    device_ = data_device.get();
    auto opened =
        OpenSegmentStore(ThreadRuntime(), std::move(data_device),
                         power_.NewDevice(std::move(journal)), CrashOptions("overwrite", 0.8));
    INFO(opened.status());
    REQUIRE(opened.ok());
    return std::move(opened->store);
  }

  PowerSupply power_;
  CrashDevice* device_ = nullptr;
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  TestPage page_;
};

TEST_CASE("A write that a crash took back does not come back at the crash after") {
  constexpr uint64_t kPages = 64;
  std::vector<std::byte> data, journal;
  std::vector<PageId> ids;
  {
    Life first({}, {});
    REQUIRE(first.store().Checkpoint({}, /*clean=*/false).ok());
    // The first writes fill segments, which reach the device by that. The second writes fill
    // doublewrite batches. Nobody flushes, so no journal names the pages.
    for (uint64_t version : {1, 2, 3, 4}) {
      for (uint64_t i = 0; i < kPages; ++i) {
        if (version == 1) ids.push_back(*first.store().AllocatePage());
        first.Write(ids[i], version);
      }
    }
    first.FailPower(&data, &journal);
  }
  {
    Life second(data, journal);
    for (uint64_t i = 0; i < kPages; ++i) {
      REQUIRE_FALSE(second.store().IsAllocated(ids[i]));
      REQUIRE(second.store().AdoptPage(ids[i]).ok());
      second.Write(ids[i], 5);
    }
    REQUIRE(second.store().Flush().ok());
    second.FailPower(&data, &journal);
  }
  Life third(data, journal);
  for (uint64_t i = 0; i < kPages; ++i) {
    CAPTURE(i);
    CHECK(third.Holds(ids[i], 5));
  }
}

}  // namespace
}  // namespace latchkey::doublewrite_repair_test
