// Death times: when each page will probably be written again, so that its present copy dies. Pages
// that die at about the same time are put into one segment, which is then emptied cheaply (Lomet and
// Luo, MDC; Wang et al., SepBIT).
//
// Of each page two numbers are kept: when it was last written, and the mean of its last intervals
// between two writes, the newest with weight 1/kMemory. A mean of intervals remembers kMemory
// writes of a rare page as well as of a frequent one; a decayed counter would forget the rare one.
// The expected interval is
//
//   mean interval + time since the last write / kMemory
//
// so a page that stops being written turns cold before its next write. Time passes in ticks, each of
// as many page writes as 1/kTicks of the live pages: so it needs no setting, and a class means
// the same in stores of all sizes. Class 0 are pages written 8 times or more while the store
// is once rewritten; each further class is written a fourth as often.
//
// Nothing of this is on the device. After an open each page counts as written once while the store is
// rewritten, until its writes say otherwise: what is lost is only prediction.
#pragma once

#include <atomic>
#include <cstdint>

#include "layout/separate/page_words.h"

namespace latchkey {

/// Thread-safe. 4 bytes per page.
class DeathTimes {
 public:
  static constexpr uint32_t kClasses = 6;
  static constexpr uint32_t kMemory = 8;
  static constexpr uint32_t kTicks = 64;

  explicit DeathTimes(Runtime& runtime) : words_(runtime) {}

  /// Counts a write of `id` in a store of `live` pages.
  void OnWrite(PageId id, uint64_t live);
  void OnFree(PageId id) { words_.Forget(id); }
  /// Below kClasses; 0: written again soonest.
  uint32_t ClassOf(PageId id) const;
  /// Expected ticks between two writes.
  double ExpectedInterval(PageId id) const;

  size_t memory_bytes() const { return words_.memory_bytes(); }

 private:
  void EndTick();

  PageWords words_;  // last write in ticks (modulo 2^16) << 16 | mean interval in 1/16 ticks
  std::atomic<uint32_t> now_{0};
  std::atomic<uint64_t> writes_{0};  // of the present tick
};

}  // namespace latchkey
