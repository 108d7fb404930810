// AheadShare: the share of announced pages that the pool reads ahead.
//
// A read is wasted if the page leaves its frame before its first fix. This happens when the pages
// that all actors have announced are more than the replacement algorithm keeps of unproven pages:
// S3-FIFO, 2Q and MQ keep few, so that a scan does not displace the others. Without a limit, MQ with
// 20 users of TPC-C-lite in a small cache wasted five of six reads.
//
// After each kWindow reads the share changes: by the wasted part if that is more than 1/8,
// otherwise it grows by 1/16, up to all pages.
//
// Thread-safety: every actor may call every function at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace latchkey {

class AheadShare {
 public:
  static constexpr uint32_t kWindow = 128;

  /// How many of `missing` pages to read ahead: the share, at least one page.
  size_t Of(size_t missing) const {
    const size_t pages = missing * share_.load(std::memory_order_relaxed) / kAll;
    return missing == 0 ? 0 : std::max<size_t>(1, pages);
  }
  /// Whether Of(n) may be less than n.
  bool is_limited() const { return share_.load(std::memory_order_relaxed) < kAll; }

  /// A page was read ahead.
  void NoteRead() {
    if (reads_.fetch_add(1, std::memory_order_relaxed) + 1 == kWindow) EndWindow();
  }
  /// A page that was read ahead left its frame without a fix.
  void NoteWasted() { wasted_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kAll = 256;

  // Called by the one actor that noted the window's last read.
  void EndWindow() {
    const uint32_t wasted = std::min(wasted_.exchange(0, std::memory_order_relaxed), kWindow);
    const uint32_t share = share_.load(std::memory_order_relaxed);
    const uint32_t next = wasted > kWindow / 8
                              ? std::max<uint32_t>(1, share * (kWindow - wasted) / kWindow)
                              : std::min(kAll, share + kAll / 16);
    share_.store(next, std::memory_order_relaxed);
    reads_.store(0, std::memory_order_relaxed);
  }

  std::atomic<uint32_t> share_{kAll};  // in parts of kAll
  std::atomic<uint32_t> reads_{0}, wasted_{0};
};

}  // namespace latchkey
