// Copy frames: page-sized memory that holds accepted writes until they are on the device. Reads of
// such pages are served from it. (A copy frame is no frame of the buffer pool.) Frames come in
// groups of contiguous frames: a segment buffer, or the frames of one page writer. A segment buffer
// has one frame per slot; a page that takes several slots uses the first one's. A frame holds the
// page as it goes to the device: as it is, or with page compression as an image (page_image.h).
// Frames are type-stable: a reader may follow a stale page word, because the frame's memory stays
// mapped while the store lives.
//
// A reader pins the frame, checks that the page's word still names it, copies, unpins. An actor
// that makes the word name another place waits until the frame is unpinned before it uses the
// memory again. Both use sequentially consistent operations on pins and word, so at least one sees
// the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layout/map/location_word.h"
#include "storage/base/reserved_memory.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class PageMap;

struct CopyFrame {
  std::atomic<uint32_t> pins{0};
  /// The page's word as it was before the page came into memory. It names the slot to release once
  /// this frame is written, and a checkpoint records it while the page is in memory.
  std::atomic<uint64_t> durable_word{0};
  PageId page = kInvalidPageId;  ///< kInvalidPageId: the frame holds nothing to be written
  /// A lower bound of the write's ticket until the write is on the device; then 0.
  std::atomic<uint64_t> ticket{0};
  uint32_t sequence = 0;
  /// Slots that the copy takes on the device; fewer than a page has: it is an image.
  uint32_t slots = 1;
  /// Counter of unwritten pages of the page writer that accepted this write; nullptr: none.
  std::atomic<size_t>* unwritten = nullptr;
  SlotId target = kNoSlot;  ///< where it is being written: the first of its slots
  bool moved = false;       ///< a move of the segment cleaner: the word does not name this frame
  bool is_replaced = false;  ///< a later frame of the same doublewrite batch holds a newer copy

  /// The write is on the device, or was overtaken, or was not accepted.
  void EndTicket() {
    ticket.store(0, std::memory_order_seq_cst);
    if (unwritten != nullptr) std::exchange(unwritten, nullptr)->fetch_sub(1);
  }
};

/// Completes the writes of a group's frames. Actors that wait for one of these writes call it.
class WriteHelper {
 public:
  virtual ~WriteHelper() = default;
  /// Starts all pending writes and waits for at least one completion, if any write is in flight.
  virtual void Help() = 0;
};

/// Counts of pages that a page writer accepted.
struct PagesOfWriter {
  std::atomic<size_t> unwritten{0};  ///< not yet on the device
  /// In an append log, in a part of a segment that is not full. Some may have been overtaken or freed since.
  std::atomic<size_t> gathering{0};
};

struct FrameGroup {
  static constexpr uint32_t kMaxFrames = kMaxSegmentSize / 4096 * kSlotsOfCompressed;

  FrameGroup(uint32_t group_index, uint32_t count, uint32_t bytes_per_frame)
      : index(group_index),
        frame_size(bytes_per_frame),
        memory(size_t{count} * bytes_per_frame),
        frames(count) {}

  FrameIndex IndexOf(uint32_t frame) const { return FrameIndex{index * kMaxFrames + frame}; }

  const uint32_t index;
  const uint32_t frame_size;  ///< bytes from one frame's memory to the next one's
  ReservedBuffer memory;  // reserved: a deep queue takes only the memory that it has used
  std::vector<CopyFrame> frames;
  /// Set when the frames are written one by one in place: the store accepts a page in such a frame
  /// again only after that write is done. nullptr for segment buffers.
  WriteHelper* in_place_helper = nullptr;
  /// For the group of a page writer: its pages, in this group or in another one.
  PagesOfWriter pages;
};

/// Thread-safe.
class FrameTable {
 public:
  static constexpr uint32_t kMaxGroups = 4096;

  FrameTable(Runtime& runtime, StoreGeometry geometry) : mutex_(runtime), geometry_(geometry) {}
  ~FrameTable();

  /// A new group of `count` pages (1..kMaxFrames), or of the slots of a segment. The table owns it
  /// until it dies. nullptr when there are kMaxGroups.
  FrameGroup* NewGroup(uint32_t count) { return NewGroup(count, geometry_.page_size); }
  FrameGroup* NewSegmentGroup() {
    return NewGroup(geometry_.slots_per_segment, geometry_.slot_size());
  }

  FrameGroup& GroupOf(FrameIndex frame) const {
    return *groups_[Raw(frame) / FrameGroup::kMaxFrames].load(std::memory_order_acquire);
  }
  CopyFrame& Frame(FrameIndex frame) const {
    return GroupOf(frame).frames[Raw(frame) % FrameGroup::kMaxFrames];
  }
  std::byte* Memory(FrameIndex frame) const {
    FrameGroup& group = GroupOf(frame);
    return group.memory.data() + size_t{Raw(frame) % FrameGroup::kMaxFrames} * group.frame_size;
  }

  uint32_t IndexInGroup(FrameIndex frame) const { return Raw(frame) % FrameGroup::kMaxFrames; }
  /// Whether the frame's memory is that of a whole page.
  bool HasBlock(FrameIndex frame) const { return GroupOf(frame).frame_size == geometry_.page_size; }

  /// Copies page `id` to `out`, unpacked, if its word still is `word`, which is kInMemory.
  bool CopyOut(const PageMap& map, PageId id, LocationWord word, std::byte* out) const;
  /// Waits until no reader copies from `frame`. REQUIRES: no page's word names the frame any more.
  void AwaitUnpinned(Runtime& runtime, FrameIndex frame) const;

  /// The least ticket of any frame, or UINT64_MAX.
  uint64_t OldestTicket() const;

  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  FrameGroup* NewGroup(uint32_t count, uint32_t frame_size);

  std::array<std::atomic<FrameGroup*>, kMaxGroups> groups_{};
  Mutex mutex_;
  std::atomic<uint32_t> used_groups_{0};
  const StoreGeometry geometry_;
  std::atomic<size_t> memory_bytes_{0};
};

}  // namespace latchkey
