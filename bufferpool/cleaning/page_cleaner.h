// Page cleaners: actors that write dirty pages before they become victims, so that evictions find
// clean frames (thesis chapter 4). The cleaners share the frames out (thesis 4.1): of C cleaners,
// cleaner k cleans frames k, k + C, k + 2C and so on.
//
// A cleaner keeps at most N writes unwritten, that is, accepted by the store and not yet on the
// device. Pages that gather in an append log do not count. The cleaning controller says N. The
// cleaner compares N with its unwritten pages before each write, and again whenever one of its
// writes is done (thesis 4.4). The clock says when the controller is adjusted: the first cleaner
// that meets the end of an interval does it.
//
// If none of its frames in the scope is dirty, a cleaner sleeps until half as many frames as it
// looked at have been evicted, or until an eviction meets a dirty victim. Without page I/O the
// cleaners use no processor time.
//
// Thread-safety: all actors may call every function at once; only the owner destroys the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/cleaning/cleaning_choices.h"
#include "bufferpool/cleaning/cleaning_controller.h"
#include "bufferpool/cleaning/write_times.h"
#include "storage/base/log_sink.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class PageCleaners final : public CleanerSignal {
 public:
  static constexpr uint32_t kMaxCleaners = 128;

  /// Starts `count` cleaners of `pool`, 0 to kMaxCleaners. REQUIRES: the pool outlives them.
  static absl::StatusOr<std::unique_ptr<PageCleaners>> Start(
      BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
      CleaningScope scope, LogSink log);
  /// Stops and joins the cleaners, after the writes that they have submitted are done.
  ~PageCleaners() override;

  void OnEviction(size_t evicted, size_t dirty_victims) override;
  /// The controller's N: number of writes that each cleaner keeps outstanding now.
  uint32_t outstanding_writes() const { return controller_->outstanding_writes(); }
  /// The most writes that each of `count` cleaners under `controller` keeps outstanding. Controllers
  /// that change N share kMostTogether among several cleaners: a store with a small cache has no memory
  /// for more, and gives it to the writers that ask first.
  static uint32_t WriterDepth(const CleaningController& controller, uint32_t count);
  static constexpr uint32_t kMostTogether = 256;

 private:
  static constexpr uint32_t kTimedWrites = 1024;  // at once, at least
  struct Cleaner {
    Cleaner(uint32_t number, uint32_t depth, LatencyRecorder* latencies)
        : part(number), times(std::max(depth, kTimedWrites), latencies) {}
    const uint32_t part;
    std::unique_ptr<PageWriter> writer;
    std::vector<FrameId> frames;  // dirty pages of the present pass
    uint32_t next = 0;            // scope kAll: where its next pass begins
    WriteTimes times;
  };

  PageCleaners(BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
               CleaningScope scope, LogSink log);
  void Run(Cleaner& cleaner);
  void RunRound(Cleaner& cleaner);
  /// Cleans the dirty pages of the cleaner that are in the scope. Returns whether there may be more
  /// to clean.
  bool RunPass(Cleaner& cleaner);
  /// Fills cleaner.frames with dirty ones, coldest first (kColdest) or by number (kAll).
  void Collect(Cleaner& cleaner);
  void CollectColdest(Cleaner& cleaner);
  void CollectNext(Cleaner& cleaner);
  /// Waits until the cleaner may have one more write unwritten. Compares N after each wait for one
  /// write.
  absl::Status AwaitRoom(Cleaner& cleaner);
  void NoteAccepted(Cleaner& cleaner);
  void NoteWritten(Cleaner& cleaner);
  CleaningCounters Totals() const;
  /// Adjusts the controller if its interval has ended.
  void AdjustByClock();
  void Sleep(const Cleaner& cleaner, uint32_t seen);
  Nanos SleepingTime(const Cleaner& cleaner);
  void Report(const absl::Status& error) const;
  bool stopped() const { return stop_.load(std::memory_order_acquire); }
  bool HaveWork() const {
    return evictions_.load(std::memory_order_seq_cst) >= next_look_.load(std::memory_order_seq_cst);
  }
  size_t Window() const;

  BufferPool& pool_;
  Runtime& runtime_;
  const std::unique_ptr<CleaningController> controller_;
  const uint32_t count_;
  const uint32_t depth_;  // of a cleaner's writer
  const CleaningScope scope_;
  const LogSink log_;
  std::atomic<uint32_t> wake_{0};  // changes whenever the cleaners should look for work again
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint64_t> evictions_{0};  // frames that lost their pages
  std::atomic<uint64_t> next_look_{0};  // value of evictions_ at which sleepers look for work again
  std::atomic<bool> stop_{false};

  Mutex adjust_mutex_;
  std::atomic<Nanos> next_adjustment_{0};
  std::atomic<bool> was_idle_{false};  // no page I/O between the last two adjustments
  CleaningCounters adjusted_ LATCHKEY_GUARDED_BY(adjust_mutex_);  // totals at the last one

  std::deque<Cleaner> cleaners_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace latchkey
