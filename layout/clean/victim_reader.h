// Brings the live pages of one victim into memory: copies them from the pool above where it has a
// clean copy, and reads the others as the read plan says.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layout/clean/read_plan.h"
#include "layout/map/page_directory.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// A live page of the victim.
struct VictimPage {
  PageId page = kInvalidPageId;
  LocationWord word;    ///< names its slot in the victim
  uint32_t index = 0;   ///< of that slot within the victim
  bool loaded = false;  ///< its content is in memory, sealed with the sequence of `word`
};

/// Not thread-safe. One frame per slot of a segment; all memory is taken by Prepare.
class VictimReader {
 public:
  /// At most `depth` requests are in flight.
  VictimReader(PageDirectory& directory, uint32_t depth);
  absl::Status Prepare();

  /// Finds the live pages of `victim` and loads them. A page that was written again meanwhile stays
  /// unloaded. So does one that fails its proof: it stays where it is, and its segment is barred.
  /// The result is valid until the next call; pages come in the order of their slots.
  std::vector<VictimPage>& Load(SegmentId victim, const SlotReadCosts& costs);
  /// The frame of the slot `index` of the victim, with its content if that was loaded.
  FrameIndex FrameOf(uint32_t index) const { return group_->IndexOf(index); }
  /// Memory of a whole segment, free between two passes.
  std::span<std::byte> spare_memory() const {
    return {group_->memory.data(), group_->memory.size()};
  }
  std::byte* Memory(uint32_t index) const { return directory_.frames().Memory(FrameOf(index)); }

 private:
  void Collect(SegmentId victim);
  void CopyFromPool();
  bool CopyFromPool(const VictimPage& page) const;
  void Read(SegmentId victim, const SlotReadCosts& costs);
  void ReadRuns(SegmentId victim);
  void EndRead(const ReadRun& run, const absl::Status& status);
  void CheckRead(VictimPage& page, const absl::Status& status);

  PageDirectory& directory_;
  StoreCore& core_;
  const uint32_t depth_;
  std::unique_ptr<IoQueue> queue_;
  IoWindow<ReadRun> window_;
  FrameGroup* group_ = nullptr;
  std::vector<VictimPage> pages_;
  std::vector<uint32_t> to_read_;
  std::vector<uint32_t> again_;  // of runs that failed: one by one
  std::vector<ReadRun> runs_;
};

}  // namespace latchkey
