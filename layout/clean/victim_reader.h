// Brings the live pages of a few victims into memory: copies them from the pool above where it has a
// clean copy, and reads the others as the read plan says, all victims at once. The reads may go on
// while the cleaner does something else.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "layout/clean/read_plan.h"
#include "layout/map/page_directory.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// A live page of a victim.
struct VictimPage {
  PageId page = kInvalidPageId;
  LocationWord word;      ///< names its slots in its victim
  uint32_t index = 0;     ///< of the first of them, counted through the slots of all victims
  bool loaded = false;    ///< what is in its slots is in memory, sealed with the sequence of `word`
  bool was_read = false;  ///< a read run has brought some of it
  absl::Status error = absl::OkStatus();  ///< of a read run that brought some of it
};

/// Not thread-safe. One frame per slot of the victims; all memory is taken by Prepare.
class VictimReader {
 public:
  /// Of up to `most_victims` at once. At most `depth` requests are in flight.
  VictimReader(PageDirectory& directory, uint32_t most_victims, uint32_t depth);
  absl::Status Prepare();
  uint32_t most_victims() const { return most_victims_; }

  /// Finds the live pages of `victims`, copies those that the pool has, and starts reads of the others.
  /// REQUIRES: !is_loading(); the victims stay in the state kCleaning until Finish returns.
  void Begin(std::span<const SegmentId> victims, const SlotReadCosts& costs);
  bool is_loading() const { return is_loading_; }
  /// Waits until the pages are loaded, and returns them in the order of their slots; valid until the
  /// next Begin. Pages that were written again since Begin are left out. A page that fails its proof
  /// stays unloaded: it stays where it is, and its segment is barred. REQUIRES: is_loading().
  std::vector<VictimPage>& Finish();
  /// Ends a load, if there is one, without its pages: waits for the reads in flight and starts no others.
  void Cancel();
  /// The place of the page's victim in `victims`.
  uint32_t VictimOf(const VictimPage& page) const {
    return page.index / core_.geometry.slots_per_segment;
  }
  /// The frame of the slot `index` of the victims, with the page of that slot if it was loaded.
  FrameIndex FrameOf(uint32_t index) const {
    const uint32_t slots = core_.geometry.slots_per_segment;
    return groups_[index / slots]->IndexOf(index % slots);
  }
  /// Bytes of the page in the victim.
  size_t BytesOf(const VictimPage& page) const {
    return size_t{page.word.slots()} * core_.geometry.slot_size();
  }
  /// Memory of a whole segment. REQUIRES: !is_loading(), and no loaded page is needed any more.
  std::span<std::byte> spare_memory() const {
    return {groups_[0]->memory.data(), groups_[0]->memory.size()};
  }
  std::byte* Memory(uint32_t index) const { return directory_.frames().Memory(FrameOf(index)); }

 private:
  void Collect(SegmentId victim, uint32_t first_index);
  void CopyFromPool();
  bool CopyFromPool(const VictimPage& page) const;
  void PlanAll(const SlotReadCosts& costs);
  void Plan(const SlotReadCosts& costs);
  std::pair<uint32_t, uint32_t> BlocksOf(const VictimPage& page) const;
  void AddBlocks(const VictimPage& page, std::vector<uint32_t>& blocks) const;
  bool NextRun(TaggedRequest<ReadRun>& request);
  void FinishRuns();
  void EndRead(const ReadRun& run, const absl::Status& status);
  void CheckRead(VictimPage& page);

  PageDirectory& directory_;
  StoreCore& core_;
  const uint32_t most_victims_;
  const uint32_t depth_;
  std::unique_ptr<IoQueue> queue_;
  IoWindow<ReadRun> window_;
  std::vector<FrameGroup*> groups_;  // one for each victim
  std::vector<SegmentId> victims_;
  std::vector<VictimPage> pages_;
  std::vector<uint32_t> to_read_;  // blocks
  std::vector<uint32_t> again_;    // of runs that failed: one by one
  std::vector<ReadRun> runs_;
  size_t next_run_ = 0;         // the first one without a request
  uint64_t planned_pages_ = 0;  // that the runs bring
  bool is_loading_ = false;
};

}  // namespace latchkey
