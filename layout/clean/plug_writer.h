// Hole-plugging: writes the live pages of a victim into the holes of other segments, the fullest
// first (Matthews et al., thesis 6.1.2.1).
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <memory>
#include <span>

#include "layout/clean/victim_reader.h"
#include "layout/map/page_directory.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// Not thread-safe.
class PlugWriter {
 public:
  /// At most `depth` writes are in flight.
  PlugWriter(PageDirectory& directory, uint32_t depth) : directory_(directory), window_(depth) {}
  absl::Status Prepare(uint32_t depth);

  /// Writes those of `pages` that are loaded to holes, preferably of the kind that `kind_of` says.
  /// Returns how many of `pages`, from the front, need no more work: fewer than all when there is
  /// no hole left.
  size_t Write(const VictimReader& victim, std::span<const VictimPage> pages,
               absl::FunctionRef<SegmentKind(PageId)> kind_of);

 private:
  FrameIndex FrameFor(const VictimReader& victim, const VictimPage& page);
  void End(FrameIndex frame, const absl::Status& written);

  PageDirectory& directory_;
  std::unique_ptr<IoQueue> queue_;
  IoWindow<FrameIndex> window_;
  // In a file with page compression: a page that shares its block is copied to a block of its own.
  FrameGroup* blocks_ = nullptr;
  std::vector<FrameIndex> idle_blocks_;
};

}  // namespace latchkey
