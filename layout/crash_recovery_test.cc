// Power failures at random calls of the devices, with every kind of damage, again and again on the
// same store: what was flushed is found, and nothing but what was written.
#include <catch2/catch.hpp>
#include <map>

#include "layout/segment_store.h"
#include "layout/separator.h"
#include "layout/testing/crash_device.h"
#include "layout/testing/store_on_memory.h"

namespace latchkey {
namespace {

constexpr uint64_t kFree = 0;  // not allocated, or never written

class CrashTest {
 public:
  CrashTest(const SegmentStoreOptions& options, uint64_t seed) : options_(options), rng_(seed) {
    // Without a first durable superblock there is no store to recover.
    PowerSupply power(ThreadRuntime());
    CrashDevice* data = nullptr;
    CrashDevice* journal = nullptr;
    REQUIRE(Open(power, &data, &journal).ok());
    power.FailAfter(0);
    REQUIRE(data->Sync().ok());
    TakeImages(power, Damage::kLoseAll);
    Close();
  }

  /// Opens, checks, works until the power fails, and takes what is left.
  void RunUntilCrash(Damage damage, uint64_t calls, bool while_opening) {
    PowerSupply power(ThreadRuntime());
    CrashDevice* data = nullptr;
    CrashDevice* journal = nullptr;
    if (while_opening) power.FailAfter(rng_.Below(30));
    const absl::Status opened = Open(power, &data, &journal);
    INFO(opened);
    REQUIRE(opened.ok());
    CheckAll();
    if (!while_opening) power.FailAfter(calls);
    while (!power.failed()) Step(power);
    TakeImages(power, damage);
    Close();
  }

  uint64_t checked_pages() const { return checked_pages_; }

 private:
  absl::Status Open(PowerSupply& power, CrashDevice** data, CrashDevice** journal) {
    auto data_device = std::make_unique<CrashDevice>(power, data_);
    auto journal_device = std::make_unique<CrashDevice>(power, journal_);
    *data = data_device.get();
    *journal = journal_device.get();
    auto opened = OpenSegmentStore(ThreadRuntime(), std::move(data_device),
                                   std::move(journal_device), options_);
    if (!opened.ok()) return opened.status();
    store_ = std::move(opened->store);
    CheckRoot(opened->client_root);
    writer_ = *store_->NewWriter(8);
    return absl::OkStatus();
  }
  void Close() {
    writer_.reset();
    store_.reset();
  }
  void TakeImages(PowerSupply& power, Damage damage) {
    data_ = power.image(0).AfterCrash(damage, rng_);
    journal_ = power.image(1).AfterCrash(damage, rng_);
  }

  // A root is large and differs everywhere from the one before, so that its superblock can be torn.
  static std::vector<std::byte> Root(uint64_t number) {
    return std::vector<std::byte>(number == 0 ? 0 : 2000, static_cast<std::byte>(number));
  }
  void CheckRoot(const std::vector<std::byte>& root) {
    uint64_t found = durable_root_;
    while (found < newest_root_ && Root(found) != root) ++found;
    REQUIRE(Root(found) == root);
    durable_root_ = newest_root_ = found;
  }

  // Every page must hold one of the states that it had since the last flush.
  void CheckAll() {
    ids_.clear();
    for (auto& [id, states] : states_) {
      const uint64_t found = StateOf(id, states);
      states = {found};
      if (store_->IsAllocated(id)) ids_.push_back(id);
      ++checked_pages_;
    }
  }
  uint64_t StateOf(PageId id, const std::vector<uint64_t>& allowed) {
    CAPTURE(Raw(id), allowed);
    if (!store_->IsAllocated(id)) {
      REQUIRE(std::find(allowed.begin(), allowed.end(), kFree) != allowed.end());
      return kFree;
    }
    const absl::Status status = store_->ReadPage(id, page_.data());
    INFO(status);
    REQUIRE(status.ok());
    for (const uint64_t version : allowed) {
      if (version != kFree && page_.Holds(id, version)) return version;
    }
    FAIL("a content that was not written since the last flush");
    return kFree;
  }

  void Step(PowerSupply& power) {
    const uint64_t dice = rng_.Below(1000);
    if (ids_.empty() || (dice < 120 && ids_.size() < 250)) {
      const auto id = store_->AllocatePage();
      REQUIRE(id.ok());
      if (states_[*id].empty()) states_[*id] = {kFree};
      ids_.push_back(*id);
    } else if (dice < 910) {
      Write(ids_[rng_.Below(ids_.size())]);
    } else if (dice < 950) {
      const size_t index = rng_.Below(ids_.size());
      states_[ids_[index]].push_back(kFree);
      store_->FreePage(ids_[index]);
      ids_[index] = ids_.back();
      ids_.pop_back();
    } else if (dice < 975) {
      REQUIRE(store_->Flush().ok());
      if (!power.failed()) NoteDurable();
    } else {
      REQUIRE(store_->Checkpoint(Root(++newest_root_), /*clean=*/dice >= 997).ok());
      if (power.failed()) return;
      NoteDurable();
      durable_root_ = newest_root_;
    }
  }
  void Write(PageId id) {
    page_.Fill(id, ++version_);
    states_[id].push_back(version_);
    const PageWrite write{id, page_.data()};
    size_t accepted = 0;
    REQUIRE(writer_->Submit({&write, 1}, &accepted).ok());
  }
  void NoteDurable() {
    for (auto& [id, states] : states_) states = {states.back()};
  }

  const SegmentStoreOptions options_;
  Rng rng_;
  std::vector<std::byte> data_, journal_;
  std::unique_ptr<SegmentStore> store_;
  std::unique_ptr<PageWriter> writer_;
  std::map<PageId, std::vector<uint64_t>> states_;
  std::vector<PageId> ids_;
  uint64_t version_ = 0;
  uint64_t durable_root_ = 0, newest_root_ = 0;
  uint64_t checked_pages_ = 0;
  TestPage page_;
};

SegmentStoreOptions CrashOptions(const std::string& layout, double utilization) {
  SegmentStoreOptions options = TestOptions(layout);
  options.space_utilization = utilization;
  options.doublewrite_pages = 8;
  options.journal_segment_bytes = 8192;
  options.journal_checkpoint_bytes = 6000;
  return options;
}

TEST_CASE("What was flushed survives power failures of every kind, at every layout and filling") {
  const std::string layout = GENERATE(from_range(LayoutNames()));
  const double utilization = GENERATE(0.5, 0.8, 0.98);
  CAPTURE(layout, utilization);
  CrashTest test(CrashOptions(layout, utilization), /*seed=*/5);
  Rng rng(17);
  const int rounds = kShorter > 1 ? 5 : 25;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[static_cast<size_t>(round) % 5];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 20 + rng.Below(300), /*while_opening=*/round % 4 == 3);
  }
  CHECK(test.checked_pages() > 0);
}

// Power fails again within the first batches after each recovery: what was put back from an area
// must be safe before that area is used again.
TEST_CASE("Pages written in place survive power failures in quick succession") {
  CrashTest test(CrashOptions("overwrite", 0.8), /*seed=*/9);
  Rng rng(23);
  test.RunUntilCrash(Damage::kKeepAll, 1500, /*while_opening=*/false);
  const int rounds = kShorter > 1 ? 20 : 150;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[2 + static_cast<size_t>(round) % 3];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 1 + rng.Below(25), /*while_opening=*/round % 3 == 2);
  }
}

}  // namespace
}  // namespace latchkey
