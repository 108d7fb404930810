// A segment store whose devices lose power again and again, at chosen calls, and the model that a
// test compares it with: every flushed page is found, and no page holds bytes that were not
// written.
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layout/segment_store.h"
#include "layout/testing/failing_writes.h"
#include "layout/testing/store_on_memory.h"
#include "storage/device/testing/crash_device.h"

namespace latchkey {

/// Devices that lose power, a store on them, and its allowed states afterwards. Not thread-safe.
class CrashingStore {
 public:
  /// The journal's device takes at most `journal_bytes`. If the test asks for no checkpoints, the
  /// journal fills up.
  CrashingStore(Runtime& runtime, const SegmentStoreOptions& options, uint64_t seed,
                uint64_t journal_bytes = UINT64_MAX, bool checkpoints = true)
      : runtime_(runtime),
        options_(options),
        rng_(seed),
        journal_bytes_(journal_bytes),
        checkpoints_(checkpoints) {
    // Without a first durable superblock there is no store to recover.
    PowerSupply power;
    CrashDevice* data = nullptr;
    CrashDevice* journal = nullptr;
    REQUIRE(Open(power, &data, &journal).ok());
    power.FailAfter(0);
    REQUIRE(data->Sync().ok());
    TakeImages(power, Damage::kLoseAll);
    Close();
  }

  /// Opens the store, checks it, works until the power fails, and keeps the remaining content.
  void RunUntilCrash(Damage damage, uint64_t calls, bool while_opening) {
    PowerSupply power;
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
  /// Number of times that the journal's device has refused to grow.
  uint64_t refusals() const { return *refusals_; }

 private:
  static constexpr uint64_t kFree = 0;  // not allocated, or never written

  absl::Status Open(PowerSupply& power, CrashDevice** data, CrashDevice** journal) {
    auto data_device = power.NewDevice(data_);
    std::shared_ptr<CrashDevice> crashing = power.NewDevice(journal_);
    *data = data_device.get();
    *journal = crashing.get();
    auto journal_device = std::make_unique<FailingWrites>(crashing);
    journal_device->most_bytes = journal_bytes_;
    journal_device->refusals = refusals_;
    auto opened =
        OpenSegmentStore(runtime_, std::move(data_device), std::move(journal_device), options_);
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

  // A root is large and differs everywhere from the previous one, so that a torn superblock shows.
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
    uint64_t found = version_;
    while (found > 0 && !page_.Holds(id, found)) --found;
    FAIL("version " << found << " was not written since the last flush");
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
    } else if (dice < 975 || !checkpoints_) {
      const absl::Status flushed = store_->Flush();
      INFO(flushed);
      REQUIRE(flushed.ok());
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

  Runtime& runtime_;
  const SegmentStoreOptions options_;
  Rng rng_;
  const uint64_t journal_bytes_;
  const bool checkpoints_;
  const std::shared_ptr<std::atomic<uint64_t>> refusals_ =
      std::make_shared<std::atomic<uint64_t>>(0);
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

/// Options for small journals that are checkpointed often.
inline SegmentStoreOptions CrashOptions(const std::string& layout, double utilization) {
  SegmentStoreOptions options = TestOptions(layout);
  options.space_utilization = utilization;
  options.doublewrite_pages = 8;
  options.journal_segment_bytes = 8192;
  options.journal_checkpoint_bytes = 6000;
  return options;
}

}  // namespace latchkey
