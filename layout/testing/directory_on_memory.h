// A page directory on memory devices, and helpers that write pages through it one by one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "layout/map/page_directory.h"
#include "layout/testing/store_on_memory.h"

namespace latchkey {

/// Segments of 16 pages of 4 KiB. With a journal, the directory has rounds.
class DirectoryOnMemory {
 public:
  static constexpr StoreGeometry kGeometry = StoreGeometry::Of(4096, 64 << 10);
  static constexpr uint64_t kDatabaseId = 0x1234;

  /// Checkpoints of the map are wanted from `checkpoint_bytes` of journal on; 0: as by default.
  explicit DirectoryOnMemory(bool with_journal, uint32_t segments = 4,
                             uint64_t checkpoint_bytes = 0)
      : device_(NewTestDevice()),
        core_(ThreadRuntime(), *device_, kGeometry, kDatabaseId, {}),
        directory_(core_),
        group_(directory_.frames().NewGroup(16)) {
    LATCHKEY_CHECK(device_->Resize(kGeometry.FileBytes(segments)).ok());
    LATCHKEY_CHECK(directory_.segments().Grow(segments));
    if (!with_journal) return;
    MapJournalOptions options;
    options.database_id = kDatabaseId;
    options.segment_bytes = 8192;
    options.checkpoint_bytes = checkpoint_bytes;
    auto device = std::make_unique<ForwardingDevice>(NewTestDevice());
    LATCHKEY_CHECK(MapJournal::MakeRoom(*device, options).ok());
    directory_.SetJournal(MapJournal::New(ThreadRuntime(), std::move(device), options));
    LATCHKEY_CHECK(directory_.journal()->StartWriting().ok());
  }

  PageDirectory& operator*() { return directory_; }
  PageDirectory* operator->() { return &directory_; }
  StoreCore& core() { return core_; }
  BlockDevice& device() { return *device_; }

  /// Opens a segment whose slots Accept may take.
  SegmentId OpenSegment(SegmentKind kind = SegmentKind::kHot) {
    const SegmentId segment = *directory_.segments().TakeFree(/*keep=*/0, kind);
    directory_.NoteSegment(segment, kind);
    return segment;
  }
  /// Accepts version `version` of `page`; `slot` becomes its own and the target of the write.
  FrameIndex Accept(PageId page, SlotId slot, uint64_t version) {
    const uint32_t frame = next_frame_++ % 16;
    directory_.segments().AssignSlot(slot, page, 1);
    group_->frames[frame].target = slot;
    directory_.TakeTicket(group_->frames[frame], nullptr);
    page_.Fill(page, version);
    LATCHKEY_CHECK(directory_.Accept(group_->IndexOf(frame), page, page_.data()));
    return group_->IndexOf(frame);
  }
  /// Writes the frame to its slot and installs it.
  void WriteOut(FrameIndex frame) {
    const SlotId slot = directory_.frames().Frame(frame).target;
    LATCHKEY_CHECK(device_
                       ->Write(kGeometry.OffsetOf(slot), {directory_.frames().Memory(frame), 4096},
                               IoClass::kPageWrite)
                       .ok());
    LATCHKEY_CHECK(directory_.InstallWritten(frame));
  }
  bool IsOwned(SlotId slot) const { return directory_.segments().OwnerOf(slot) != kInvalidPageId; }

 private:
  const std::shared_ptr<BlockDevice> device_;
  StoreCore core_;
  PageDirectory directory_;
  FrameGroup* const group_;
  uint32_t next_frame_ = 0;
  TestPage page_;
};

}  // namespace latchkey
