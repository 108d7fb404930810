#include "bufferpool/cleaning/page_cleaner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kMostOfPass = 1024;  // frames that a pass looks at or writes

}  // namespace

absl::StatusOr<std::unique_ptr<PageCleaners>> PageCleaners::Start(
    BufferPool& pool, std::unique_ptr<CleaningController> controller, uint32_t count,
    CleaningScope scope, LogSink log) {
  if (count > kMaxCleaners) {
    return InvalidArgument("{} page cleaners are too many: 0 to {}", count, kMaxCleaners);
  }
  std::unique_ptr<PageCleaners> cleaners(
      new PageCleaners(pool, std::move(controller), count, scope, std::move(log)));
  PageCleaners* self = cleaners.get();
  for (Cleaner& cleaner : cleaners->cleaners_) {
    LATCHKEY_ASSIGN_OR_RETURN(cleaner.writer, pool.store().NewWriter(self->depth_));
  }
  cleaners->actors_.reserve(count);  // so that push_back of a spawned actor cannot throw
  for (Cleaner& cleaner : cleaners->cleaners_) {
    cleaners->actors_.push_back(self->runtime_.Spawn("cleaner-" + std::to_string(cleaner.part),
                                                     [self, &cleaner] { self->Run(cleaner); }));
  }
  if (count > 0) pool.SetCleanerSignal(cleaners.get());
  return cleaners;
}

uint32_t PageCleaners::WriterDepth(const CleaningController& controller, uint32_t count) {
  constexpr uint32_t kFewest = 8;
  const uint32_t most = controller.most_outstanding_writes();
  if (controller.interval() == 0 || count == 0) return most;
  return std::min(most, std::max(kFewest, kMostTogether / count));
}

PageCleaners::PageCleaners(BufferPool& pool, std::unique_ptr<CleaningController> controller,
                           uint32_t count, CleaningScope scope, LogSink log)
    : pool_(pool),
      runtime_(pool.runtime()),
      controller_(std::move(controller)),
      count_(count),
      depth_(WriterDepth(*controller_, count)),
      scope_(scope),
      log_(std::move(log)),
      adjust_mutex_(runtime_),
      next_adjustment_(runtime_.Now() + controller_->interval()) {
  for (uint32_t i = 0; i < count; ++i) {
    cleaners_.emplace_back(i, depth_, pool.write_latencies());
  }
}

PageCleaners::~PageCleaners() {
  if (count_ > 0) pool_.SetCleanerSignal(nullptr);
  stop_.store(true, std::memory_order_release);
  wake_.fetch_add(1, std::memory_order_release);
  runtime_.Wake(wake_, UINT32_MAX);
  for (const auto& actor : actors_) actor->Join();
}

size_t PageCleaners::Window() const {
  return std::clamp<size_t>(pool_.frames() / 8, 16, kMostOfPass);
}

// ---- Sleeping and waking

void PageCleaners::OnEviction(size_t evicted, size_t dirty_victims) {
  evictions_.fetch_add(evicted, std::memory_order_seq_cst);
  if (dirty_victims == 0 && !HaveWork()) return;
  if (sleeping_.load(std::memory_order_seq_cst) == 0) return;
  wake_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(wake_, UINT32_MAX);
}

void PageCleaners::Sleep(const Cleaner& cleaner, uint32_t seen) {
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  // If an eviction comes between the last look and this sleep, the counter shows it, or the next
  // eviction wakes this cleaner.
  if (!HaveWork() && !stopped()) runtime_.WaitOnWord(wake_, seen, SleepingTime(cleaner));
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
}

// While there is page I/O, one sleeping cleaner adjusts the controller.
Nanos PageCleaners::SleepingTime(const Cleaner& cleaner) {
  if (cleaner.part != 0 || controller_->interval() == 0) return kForever;
  if (was_idle_.load(std::memory_order_relaxed)) return kForever;
  const Nanos now = runtime_.Now();
  const Nanos due = next_adjustment_.load(std::memory_order_relaxed);
  return due > now ? due - now : 1;
}

// ---- Writing

void PageCleaners::Collect(Cleaner& cleaner) {
  scope_ == CleaningScope::kAll ? CollectNext(cleaner) : CollectColdest(cleaner);
}

void PageCleaners::CollectNext(Cleaner& cleaner) {
  cleaner.frames.clear();
  const uint32_t frames = pool_.frames();
  const uint32_t own = frames / count_ + 1;  // upper bound; frames are numbered from 1
  for (uint32_t i = 0; i < own && cleaner.frames.size() < kMostOfPass; ++i) {
    const uint32_t number = cleaner.part + cleaner.next * count_;
    cleaner.next = (cleaner.next + 1) % own;
    const FrameId frame{number};
    if (number != 0 && number <= frames && pool_.IsDirty(frame)) cleaner.frames.push_back(frame);
  }
}

void PageCleaners::CollectColdest(Cleaner& cleaner) {
  cleaner.frames.resize(Window());
  cleaner.frames.resize(pool_.policy().PeekColdest(cleaner.frames));
  std::erase_if(cleaner.frames, [&](FrameId frame) {
    return Raw(frame) % count_ != cleaner.part || !pool_.IsDirty(frame);
  });
}

absl::Status PageCleaners::AwaitRoom(Cleaner& cleaner) {
  for (;;) {
    NoteWritten(cleaner);
    AdjustByClock();
    const size_t limit = std::min(controller_->outstanding_writes(), depth_);
    const size_t waiting = cleaner.writer->waiting();  // gathering pages leave their frames free
    if (waiting < limit || stopped()) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(cleaner.writer->WaitWritten(waiting - 1));
  }
}

void PageCleaners::NoteWritten(Cleaner& cleaner) {
  if (controller_->interval() != 0) {
    cleaner.times.NoteWaiting(cleaner.writer->waiting(), runtime_.Now());
  }
}

void PageCleaners::NoteAccepted(Cleaner& cleaner) {
  if (controller_->interval() != 0) cleaner.times.NoteAccepted(runtime_.Now());
}

bool PageCleaners::RunPass(Cleaner& cleaner) {
  const uint64_t begin = evictions_.load(std::memory_order_relaxed);
  Collect(cleaner);
  // One flush of the log for the whole pass: evictions then find victims that can be written at
  // once.
  absl::Status status = pool_.SparesLog() ? absl::OkStatus() : pool_.MakeLogDurable(cleaner.frames);
  bool any = false;
  for (const FrameId frame : cleaner.frames) {
    if (status.ok()) status = AwaitRoom(cleaner);
    if (!status.ok() || stopped()) break;
    // So many evictions later other frames are next in line.
    if (scope_ == CleaningScope::kColdest &&
        evictions_.load(std::memory_order_relaxed) - begin > Window() / 2) {
      return true;
    }
    cleaner.writer->AwaitRoom();  // here, because TryClean latches the page
    const size_t gathering = cleaner.writer->gathering();
    const absl::StatusOr<bool> accepted = pool_.TryClean(frame, *cleaner.writer);
    status = accepted.status();
    const bool is_accepted = accepted.ok() && *accepted;
    if (is_accepted && cleaner.writer->gathering() <= gathering) NoteAccepted(cleaner);
    any = any || is_accepted;
  }
  if (!status.ok()) Report(status);
  return any;
}

void PageCleaners::RunRound(Cleaner& cleaner) {
  const uint32_t seen = wake_.load(std::memory_order_acquire);
  const bool any = RunPass(cleaner);
  AdjustByClock();
  if (any) return;
  // All clean: no cleaner need look again until half of these frames have been evicted.
  next_look_.store(evictions_.load(std::memory_order_seq_cst) + Window() / 2,
                   std::memory_order_seq_cst);
  if (const absl::Status status = cleaner.writer->Wait(0); !status.ok()) Report(status);
  NoteWritten(cleaner);
  Sleep(cleaner, seen);
}

void PageCleaners::Run(Cleaner& cleaner) {
  constexpr Nanos kRetryInterval = 10 * kNanosPerMilli;
  while (!stopped()) {
    try {
      RunRound(cleaner);
    } catch (const std::bad_alloc&) {
      runtime_.SleepFor(kRetryInterval);  // meanwhile evictions write their victims themselves
    }
  }
  CatchOutOfMemory([&] { return cleaner.writer->Wait(0); }).IgnoreError();
}

// ---- The controller

CleaningCounters PageCleaners::Totals() const {
  const BufferPoolStats stats = pool_.stats();
  CleaningCounters totals = {.page_reads = stats.reads(),
                             .synchronous_writes = stats.sync_page_writes,
                             .asynchronous_writes = stats.async_page_writes,
                             .now = runtime_.Now(),
                             .cleaners = count_};
  for (const Cleaner& cleaner : cleaners_) {
    totals.written += cleaner.times.writes();
    totals.write_time += cleaner.times.sum();
    totals.shortest_write = std::min(totals.shortest_write, cleaner.times.shortest());
  }
  return totals;
}

void PageCleaners::AdjustByClock() {
  if (controller_->interval() == 0) return;
  const Nanos now = runtime_.Now();
  if (now < next_adjustment_.load(std::memory_order_relaxed)) return;
  if (!adjust_mutex_.TryLock()) return;
  next_adjustment_.store(now + controller_->interval(), std::memory_order_relaxed);
  const CleaningCounters totals = Totals();
  was_idle_.store(totals.page_ios() == adjusted_.page_ios(), std::memory_order_relaxed);
  adjusted_ = totals;
  controller_->OnIntervalEnd(totals);
  adjust_mutex_.Unlock();
}

void PageCleaners::Report(const absl::Status& error) const {
  LogTo(log_, LogEvent::kWriteError, LogLevel::kError,
        "page cleaner: " + std::string(error.message()));
}

}  // namespace latchkey
