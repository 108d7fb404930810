// Page cleaners: actors that write dirty pages before they become victims, so that evictions find
// clean frames (thesis chapter 4). A cleaner looks at the frames that are next in line for
// eviction. It writes the dirty pages of its own share of them, and keeps as many writes
// outstanding as the cleaning controller says.
//
// If its share holds no dirty page, a cleaner sleeps until half as many frames as it looked at have
// been evicted, or until an eviction meets a dirty victim. Without evictions the cleaners use no
// processor time.
//
// Thread-safety: all actors may call every function at once; only the owner destroys the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/cleaning/cleaning_controller.h"
#include "storage/base/log_sink.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class PageCleaners final : public CleanerSignal {
 public:
  static constexpr uint32_t kMaxCleaners = 64;

  /// Starts `count` cleaners of `pool`, 0 to kMaxCleaners. REQUIRES: the pool outlives them.
  static absl::StatusOr<std::unique_ptr<PageCleaners>> Start(
      BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
      LogSink log);
  /// Stops and joins the cleaners, after the writes that they have submitted are done.
  ~PageCleaners() override;

  void OnEviction(size_t evicted, size_t dirty_victims) override;
  /// The controller's N: number of writes that each cleaner keeps outstanding now.
  uint32_t outstanding_writes() const { return controller_->outstanding_writes(); }

 private:
  PageCleaners(BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
               LogSink log);
  void Run(uint32_t part, PageWriter& writer);
  void RunRound(uint32_t part, PageWriter& writer, std::vector<FrameId>& coldest,
                Nanos* last_adjustment);
  /// Cleans the dirty pages among the coldest frames; returns their number.
  size_t CleanColdest(uint32_t part, PageWriter& writer, std::vector<FrameId>& coldest);
  void Sleep(uint32_t seen);
  void AdjustController(Nanos* last);
  size_t Window() const;

  BufferPool& pool_;
  Runtime& runtime_;
  const std::unique_ptr<CleaningController> controller_;
  const uint32_t count_;
  const LogSink log_;
  std::atomic<uint32_t> wake_{0};  // changes whenever the cleaners should look for work again
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<int64_t> clean_ahead_{
      0};  // number of evictions until a cleaner must look for work again
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<PageWriter>> writers_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace latchkey
