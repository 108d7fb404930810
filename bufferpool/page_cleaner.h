// Page cleaners: actors that write dirty pages ahead of need, so that users find clean victims
// (thesis chapter 4). Each cleaner takes its own share of the frames that are next in line for
// eviction and keeps as many writes outstanding as the cleaning controller says.
//
// Background work yields: a cleaner sleeps until evictions have eaten into the part of the pool
// that it last found clean, or until a user met a dirty victim. With nothing evicted, cleaning
// costs nothing.
//
// Thread-safety: everything may be called from every actor at once; destroyed by the owner alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/cleaning_controller.h"
#include "storage/base/log_sink.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class PageCleaners final : public CleanerSignal {
 public:
  static constexpr uint32_t kMaxCleaners = 64;

  /// Starts `count` cleaners (at most kMaxCleaners; 0 is allowed) of `pool`, which outlives them.
  static absl::StatusOr<std::unique_ptr<PageCleaners>> Start(
      BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
      LogSink log);
  /// Stops and joins the cleaners; what they have submitted is finished first.
  ~PageCleaners() override;

  void OnEviction(size_t evicted, size_t dirty_victims) override;
  /// The controller's N: writes that each cleaner keeps outstanding now.
  uint32_t outstanding_writes() const { return controller_->outstanding_writes(); }

 private:
  PageCleaners(BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
               LogSink log);
  void Run(uint32_t part, PageWriter& writer);
  void RunRound(uint32_t part, PageWriter& writer, std::vector<FrameId>& coldest,
                Nanos* last_adjustment);
  /// Cleans what is dirty among the coldest frames; returns how many pages that were.
  size_t CleanColdest(uint32_t part, PageWriter& writer, std::vector<FrameId>& coldest);
  void Sleep(uint32_t seen);
  void AdjustController(Nanos* last);
  size_t Window() const;

  BufferPool& pool_;
  Runtime& runtime_;
  const std::unique_ptr<CleaningController> controller_;
  const uint32_t count_;
  const LogSink log_;
  std::atomic<uint32_t> wake_{0};  // changes with every reason to look again
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<int64_t> clean_ahead_{
      0};  // frames that may be evicted before anybody need look again
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<PageWriter>> writers_;
  std::vector<std::unique_ptr<Actor>> actors_;
};

}  // namespace latchkey
