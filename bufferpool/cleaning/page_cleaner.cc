#include "bufferpool/cleaning/page_cleaner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<PageCleaners>> PageCleaners::Start(
    BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count, LogSink log) {
  if (count > kMaxCleaners) {
    return InvalidArgument("{} page cleaners are too many: 0 to {}", count, kMaxCleaners);
  }
  std::unique_ptr<PageCleaners> cleaners(
      new PageCleaners(pool, std::move(controller), count, std::move(log)));
  for (uint32_t i = 0; i < count; ++i) {
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<PageWriter> writer,
                              pool.store().NewWriter(kMaxOutstandingWrites));
    cleaners->writers_.push_back(std::move(writer));
  }
  cleaners->actors_.reserve(count);  // so that push_back of a spawned actor cannot throw
  for (uint32_t i = 0; i < count; ++i) {
    PageCleaners* self = cleaners.get();
    cleaners->actors_.push_back(self->runtime_.Spawn(
        "cleaner-" + std::to_string(i), [self, i] { self->Run(i, *self->writers_[i]); }));
  }
  if (count > 0) pool.SetCleanerSignal(cleaners.get());
  return cleaners;
}

PageCleaners::PageCleaners(BufferPool& pool, std::unique_ptr<CleaningController> controller,
                           uint32_t count, LogSink log)
    : pool_(pool),
      runtime_(pool.runtime()),
      controller_(std::move(controller)),
      count_(count),
      log_(std::move(log)) {}

PageCleaners::~PageCleaners() {
  if (count_ > 0) pool_.SetCleanerSignal(nullptr);
  stop_.store(true, std::memory_order_release);
  wake_.fetch_add(1, std::memory_order_release);
  runtime_.Wake(wake_, UINT32_MAX);
  for (const auto& actor : actors_) actor->Join();
}

size_t PageCleaners::Window() const { return std::clamp<size_t>(pool_.frames() / 8, 16, 1024); }

void PageCleaners::OnEviction(size_t evicted, size_t dirty_victims) {
  const auto n = static_cast<int64_t>(evicted);
  const int64_t left = clean_ahead_.fetch_sub(n, std::memory_order_relaxed) - n;
  if (left > 0 && dirty_victims == 0) return;
  if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
  wake_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(wake_, UINT32_MAX);
}

void PageCleaners::Sleep(uint32_t seen) {
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  // If an eviction comes between the last look and this sleep, the counter shows it, or the next
  // eviction wakes this cleaner.
  if (clean_ahead_.load(std::memory_order_seq_cst) > 0 && !stop_.load(std::memory_order_acquire)) {
    runtime_.WaitOnWord(wake_, seen, kForever);
  }
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
}

size_t PageCleaners::CleanColdest(uint32_t part, PageWriter& writer,
                                  std::vector<FrameId>& coldest) {
  coldest.resize(Window());
  coldest.resize(pool_.policy().PeekColdest(coldest));
  std::erase_if(
      coldest, [&](FrameId frame) { return Raw(frame) % count_ != part || !pool_.IsDirty(frame); });
  // One flush of the log for the whole pass: evictions then find victims that can be written at
  // once.
  const absl::Status durable = pool_.SparesLog() ? absl::OkStatus() : pool_.MakeLogDurable(coldest);
  if (!durable.ok()) {
    LogTo(log_, LogLevel::kError, "page cleaner: " + std::string(durable.message()));
    return 0;
  }
  const uint32_t limit = controller_->outstanding_writes();
  size_t cleaned = 0;
  for (const FrameId frame : coldest) {
    absl::StatusOr<bool> handed_over = pool_.TryClean(frame, writer);
    absl::Status status = handed_over.status();
    if (status.ok() && writer.outstanding() >= limit) status = writer.Wait(limit - 1);
    if (!status.ok()) {
      LogTo(log_, LogLevel::kError, "page cleaner: " + std::string(status.message()));
      return cleaned;
    }
    if (*handed_over) ++cleaned;
  }
  return cleaned;
}

void PageCleaners::AdjustController(Nanos* last) {
  if (controller_->interval() == 0) return;
  const Nanos now = runtime_.Now();
  if (now - *last < controller_->interval()) return;
  *last = now;
  const BufferPoolStats stats = pool_.stats();
  controller_->OnIntervalEnd({.page_reads = stats.reads(),
                              .synchronous_writes = stats.sync_page_writes,
                              .asynchronous_writes = stats.async_page_writes});
}

void PageCleaners::RunRound(uint32_t part, PageWriter& writer, std::vector<FrameId>& coldest,
                            Nanos* last_adjustment) {
  const uint32_t seen = wake_.load(std::memory_order_acquire);
  const size_t cleaned = CleanColdest(part, writer, coldest);
  if (part == 0) AdjustController(last_adjustment);
  if (cleaned > 0) return;
  // All clean: no cleaner need look again until half of these frames have been evicted.
  clean_ahead_.store(static_cast<int64_t>(Window() / 2), std::memory_order_seq_cst);
  if (const absl::Status status = writer.Wait(0); !status.ok()) {
    LogTo(log_, LogLevel::kError, "page cleaner: " + std::string(status.message()));
  }
  Sleep(seen);
}

void PageCleaners::Run(uint32_t part, PageWriter& writer) {
  constexpr Nanos kRetryInterval = 10 * kNanosPerMilli;
  std::vector<FrameId> coldest;
  Nanos last_adjustment = runtime_.Now();
  while (!stop_.load(std::memory_order_acquire)) {
    try {
      RunRound(part, writer, coldest, &last_adjustment);
    } catch (const std::bad_alloc&) {
      runtime_.SleepFor(kRetryInterval);  // meanwhile evictions write their victims themselves
    }
  }
  CatchOutOfMemory([&] { return writer.Wait(0); }).IgnoreError();
}

}  // namespace latchkey
