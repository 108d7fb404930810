// The frames of the pool: their memory, and what the pool knows of the page in each of them.
//
// Frames are type-stable: they lie in one reserved range of memory that stays mapped while the
// object lives. A frame beyond the present number takes no memory.
//
// A frame remembers the LSN of its page's first logged change that the store does not have (the
// recLSN of ARIES). So a checkpoint writes only the pages that it must.
//
// Thread-safety: all functions that read may be called from all actors at once. A function that
// changes what is known of a frame requires the exclusive latch of the page in it (page_word.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/base/ids.h"
#include "storage/base/racy_memory.h"
#include "storage/page_format.h"

namespace latchkey {

class BufferFrames {
 public:
  /// `count` empty frames of `page_size` bytes, numbered from 1; room for `max_count`.
  BufferFrames(uint32_t page_size, uint32_t count, uint32_t max_count);
  ~BufferFrames();
  BufferFrames(const BufferFrames&) = delete;
  BufferFrames& operator=(const BufferFrames&) = delete;

  /// Bytes of memory of a frame besides the page.
  static const size_t kBytesPerFrame;

  /// Whether the system gave the address space. If not, no other function may be called.
  bool reserved() const { return memory_ != nullptr && meta_ != nullptr; }
  uint32_t page_size() const { return page_size_; }
  /// The present number of frames, and the most that there can be.
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  uint32_t max_count() const { return max_count_; }

  std::byte* DataOf(FrameId frame) const { return memory_ + size_t{Raw(frame)} * page_size_; }
  /// The LSN in the header of the page in `frame`.
  Lsn LsnOf(FrameId frame) const {
    return Lsn{RacyLoad<uint64_t>(DataOf(frame) + offsetof(PageHeader, lsn))};
  }
  /// The page in `frame`; kInvalidPageId: the frame is empty.
  PageId PageOf(FrameId frame) const {
    return PageId{meta_[Raw(frame)].page.load(std::memory_order_relaxed)};
  }
  bool IsEmpty(FrameId frame) const { return PageOf(frame) == kInvalidPageId; }
  /// Prefetches what MarkDirty and NoteLoggedChange write into the processor's cache.
  void PrefetchForChange(FrameId frame) const { __builtin_prefetch(&meta_[Raw(frame)], /*rw=*/1); }

  /// Notes that `frame` holds `page` from now on, and that the page is clean. REQUIRES: the bytes of
  /// the page are in the frame.
  void SetPage(FrameId frame, PageId page);
  /// Notes that the page has left `frame`. REQUIRES: the page is clean, or its content is not
  /// needed any more.
  void Clear(FrameId frame) {
    meta_[Raw(frame)].page.store(Raw(kInvalidPageId), std::memory_order_relaxed);
  }

  // ---- Changes that the store does not have.

  bool IsDirty(FrameId frame) const {
    return meta_[Raw(frame)].dirty.load(std::memory_order_relaxed);
  }
  uint64_t dirty_count() const { return dirty_count_.load(std::memory_order_relaxed); }
  void MarkDirty(FrameId frame) {
    std::atomic<bool>& dirty = meta_[Raw(frame)].dirty;
    if (dirty.load(std::memory_order_relaxed)) return;
    dirty.store(true, std::memory_order_relaxed);
    dirty_count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Notes that the store has accepted the page, or that its content is not needed any more.
  void MarkClean(FrameId frame);
  /// Notes the recLSN of a dirty frame, if the change that was just made is its first logged one.
  void NoteLoggedChange(FrameId frame) {
    std::atomic<uint64_t>& rec_lsn = meta_[Raw(frame)].rec_lsn;
    const uint64_t known = rec_lsn.load(std::memory_order_relaxed);
    if ((known & kNothingLogged) == 0) return;
    // An unlogged change does not change the page's LSN and needs no redo.
    const uint64_t lsn = Raw(LsnOf(frame));
    if (lsn > (known & ~kNothingLogged)) rec_lsn.store(lsn, std::memory_order_relaxed);
  }
  /// Marks the page dirty since the logged change at `lsn`; Lsn{0}: since one that was not logged.
  /// REQUIRES: the page is clean.
  void MarkDirtySince(FrameId frame, Lsn lsn) {
    if (lsn != Lsn{0}) meta_[Raw(frame)].rec_lsn.store(Raw(lsn), std::memory_order_relaxed);
    MarkDirty(frame);
  }
  /// Whether the page is dirty and its recLSN is below `lsn`. With `unlogged_too` also if it is
  /// dirty by changes that were not logged, and its page LSN is below `lsn`.
  /// Lsn{UINT64_MAX}: whether it is dirty.
  bool HoldsChangeBefore(FrameId frame, Lsn lsn, bool unlogged_too) const;

  // ---- Changing the number of frames: one actor at a time.

  /// Makes frames up to `count` ready for SetCount. REQUIRES: this->count() < count <= max_count().
  void PrepareGrowth(uint32_t count);
  /// REQUIRES: PrepareGrowth(count), or the frames above `count` are empty.
  void SetCount(uint32_t count) { count_.store(count, std::memory_order_release); }
  /// Gives the memory of the frames from count() + 1 to `last` back to the system, from the next
  /// whole huge page on.
  void DiscardUpTo(FrameId last);

 private:
  struct FrameMeta {
    std::atomic<uint64_t> page{Raw(kInvalidPageId)};
    // The recLSN; or kNothingLogged together with the page's LSN when it was last clean.
    std::atomic<uint64_t> rec_lsn{kNothingLogged};
    std::atomic<bool> dirty{false};
  };
  static constexpr uint64_t kNothingLogged = uint64_t{1} << 63;

  size_t reserved_slots() const { return size_t{max_count_} + 1; }
  void NoteCleanLsn(FrameId frame) {
    meta_[Raw(frame)].rec_lsn.store(Raw(LsnOf(frame)) | kNothingLogged, std::memory_order_relaxed);
  }

  const uint32_t page_size_;
  const uint32_t max_count_;
  std::atomic<uint32_t> count_;
  std::byte* memory_ = nullptr;  // frames 0..max_count_; frame 0 is never used
  FrameMeta* meta_ = nullptr;
  std::atomic<uint64_t> dirty_count_{0};
};

inline constexpr size_t BufferFrames::kBytesPerFrame = sizeof(FrameMeta);

}  // namespace latchkey
