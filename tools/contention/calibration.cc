#include "tools/contention/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/synchronization/scheme_lock.h"
#include "storage/base/status_macros.h"
#include "tools/contention/measured_actors.h"
#include "tools/contention/pool_emulator.h"
#include "tools/contention/zero_page_store.h"

namespace latchkey {
namespace {

constexpr uint32_t kCalls = 20'000;        // of a short measurement: about a millisecond
constexpr double kThreshold = 32;          // of bp-wrapper as it is without parameters
constexpr double kMostTurn = 1000;         // ns; more is a wait for a processor
constexpr const char* kReference = "lru";  // common costs are measured with it

class Calibrator {
 public:
  explicit Calibrator(const CalibrationConfig& config) : config_(config) {}

  absl::StatusOr<ModelCosts> Run() {
    LATCHKEY_RETURN_IF_ERROR(MeasureAccesses());
    LATCHKEY_RETURN_IF_ERROR(MeasureTransfer());
    LATCHKEY_RETURN_IF_ERROR(MeasureAlgorithm(kReference));
    LATCHKEY_RETURN_IF_ERROR(MeasureQueues());
    LATCHKEY_RETURN_IF_ERROR(MeasureMisses());
    for (const std::string& algorithm : config_.algorithms) {
      if (algorithm == kReference) continue;
      LATCHKEY_RETURN_IF_ERROR(MeasureAlgorithm(algorithm));
    }
    MeasureSleepers();
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    return std::move(costs_);
  }

 private:
  bool Stopped() const {
    return config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed);
  }
  // Cancelled: stopped, and what was measured last makes no sense.
  absl::Status GoOn() const {
    return Stopped() ? absl::CancelledError("interrupted while calibrating") : absl::OkStatus();
  }

  // The least time of a call of `body`, in ns, when `body` makes `calls` calls. Infinity: stopped.
  double LeastTime(uint32_t repetitions, uint32_t calls, absl::FunctionRef<void()> body) const {
    Runtime& runtime = ThreadRuntime();
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t i = 0; i < repetitions && !Stopped(); ++i) {
      const Nanos start = runtime.Now();
      body();
      least = std::min(least, static_cast<double>(runtime.Now() - start) / calls);
    }
    return least;
  }

  // A pool over zeros, full.
  struct FullPool {
    std::unique_ptr<ZeroPageStore> store;
    std::unique_ptr<BufferPool> pool;
  };
  absl::StatusOr<FullPool> MakePool(const std::string& replacement, const char* synchronization,
                                    bool fits) {
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    LATCHKEY_ASSIGN_OR_RETURN(const auto algorithm, ReplacementAlgorithms().Parse(replacement));
    const auto frames = static_cast<uint32_t>(fits ? config_.pages : config_.pages / 4);
    LATCHKEY_ASSIGN_OR_RETURN(
        std::unique_ptr<FixPolicy> policy,
        MakeFixPolicy(ThreadRuntime(), algorithm, SynchronizationSchemes().Named(synchronization),
                      frames, frames, /*seed=*/1));
    FullPool full{.store = std::make_unique<ZeroPageStore>(kEmulatedPageSize, config_.pages),
                  .pool = {}};
    LATCHKEY_ASSIGN_OR_RETURN(full.pool, BufferPool::Create(ThreadRuntime(), *full.store,
                                                            std::move(policy), frames, frames));
    for (uint64_t page = 0; page < config_.pages; ++page) {
      LATCHKEY_RETURN_IF_ERROR(GoOn());
      OptimisticGuard guard;
      LATCHKEY_RETURN_IF_ERROR(full.pool->FixOptimistic(full.pool->Here(), PageId{page}, &guard));
    }
    return full;
  }

  // The time of an access without work, with one thread, and how many of the accesses miss.
  struct AccessTime {
    double time, miss_ratio;
  };
  absl::StatusOr<AccessTime> TimeOf(const std::string& replacement, const char* synchronization,
                                    bool fits = true, bool latches = false) {
    LATCHKEY_ASSIGN_OR_RETURN(const FullPool full, MakePool(replacement, synchronization, fits));
    const auto stream = config_.accesses.Make(AccessPatternConfig{.pages = config_.pages});
    BufferPool& pool = *full.pool;
    PoolActor& actor = pool.Here();
    absl::Status failure;
    const auto fix_many = [&] {
      for (uint32_t i = 0; i < kCalls; ++i) {
        if (latches) {
          SharedGuard guard;
          failure.Update(pool.FixShared(actor, PageId{stream->Next()}, &guard));
        } else {
          OptimisticGuard guard;
          failure.Update(pool.FixOptimistic(actor, PageId{stream->Next()}, &guard));
        }
      }
    };
    fix_many();
    const uint64_t misses = actor.LoadsBy(LoadCause::kDemand);
    const double time = LeastTime(config_.repetitions, kCalls, fix_many);
    LATCHKEY_RETURN_IF_ERROR(failure);
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    const auto missed = static_cast<double>(actor.LoadsBy(LoadCause::kDemand) - misses);
    return AccessTime{.time = time, .miss_ratio = missed / config_.repetitions / kCalls};
  }

  absl::Status MeasureAccesses() {
    Runtime& runtime = ThreadRuntime();
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime plain, TimeOf("clock", "global"));
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime pinned, TimeOf("clock", "global", true, true));
    costs_.access = plain.time;
    costs_.pin = std::max(0.0, pinned.time - plain.time);
    SchemeLock lock(runtime, LockKind::kSleep);
    costs_.lock = LeastTime(config_.repetitions, kCalls, [&] {
      for (uint32_t i = 0; i < kCalls; ++i) {
        lock.Lock();
        lock.Unlock();
      }
    });
    constexpr uint32_t kWorks = 500;
    costs_.work = LeastTime(config_.repetitions, kWorks,
                            [&] {
                              for (uint32_t i = 0; i < kWorks; ++i) Work(runtime, kNanosPerMicro);
                            }) -
                  kNanosPerMicro;
    costs_.spin = LeastTime(config_.repetitions, kCalls,
                            [&] {
                              for (uint32_t i = 0; i < kCalls; ++i) runtime.BackOff(0);
                            }) /
                  1.25;  // the simulation adds up to a half
    return absl::OkStatus();
  }

  // A thread that waits for its turn reads the word of turns, and writes it afterwards: the line
  // travels twice. A word that both only change by atomic writes travels once in each turn.
  absl::Status MeasureTransfer() {
    turn_ = TurnTime([](uint32_t) {});
    struct alignas(128) Word {
      std::atomic<uint32_t> value{0};
    } word;
    costs_.transfer = std::max(1.0, TurnTime([&](uint32_t) { word.value.fetch_add(1); }) - turn_);
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    const double waited = std::max(turn_, costs_.transfer);
    if (waited <= kMostTurn) return absl::OkStatus();
    return absl::UnavailableError(fmt::format(
        "the two threads of the calibration did not run at once: one waited {:.0f} ns for the "
        "other, at most {:.0f}; repeat it while two processors are idle",
        waited, kMostTurn));
  }

  absl::Status MeasureAlgorithm(const std::string& name) {
    LATCHKEY_ASSIGN_OR_RETURN(const auto choice, ReplacementAlgorithms().Parse(name));
    LATCHKEY_RETURN_IF_ERROR(CheckRunsInPool(choice));
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime locked, TimeOf(name, "global:hits=locked"));
    AlgorithmCosts& costs = costs_.algorithms[name];
    costs.hit = std::max(0.5, locked.time - costs_.access - costs_.lock);
    MeasureDirectly(choice, &costs);
    return GoOn();
  }

  // The calls of an algorithm without a pool around it.
  void MeasureDirectly(const ReplacementChoice& choice, AlgorithmCosts* costs) {
    const auto frames = static_cast<uint32_t>(config_.pages);
    std::vector<ReferenceByte> bytes(frames + 1);
    const auto algorithm =
        choice.Make(ReplacementConfig{.frame_capacity = frames, .reference_bytes = bytes.data()});
    for (uint32_t f = 1; f <= frames; ++f) {
      if (Stopped()) return;
      algorithm->OnLoad(FrameId{f}, PageId{f - 1}, LoadKind::kDemand);
    }
    const auto stream = config_.accesses.Make(AccessPatternConfig{.pages = config_.pages});
    std::vector<FrameId> hits;
    for (uint32_t i = 0; i < kCalls; ++i) {
      hits.push_back(FrameId{static_cast<uint32_t>(stream->Next()) + 1});
    }
    constexpr auto kBatch = static_cast<uint32_t>(kThreshold);
    const auto in_batches = [&](bool report) {
      return LeastTime(config_.repetitions, kCalls, [&] {
        for (uint32_t begin = 0; begin + kBatch <= kCalls; begin += kBatch) {
          for (uint32_t i = begin; i < begin + kBatch; ++i) {
            algorithm->PrefetchForHit(hits[i], PageId{Raw(hits[i]) - 1});
          }
          for (uint32_t i = begin; report && i < begin + kBatch; ++i) algorithm->OnHit(hits[i]);
        }
      });
    };
    const double prefetches = in_batches(false);
    costs->batched_hit = std::max(0.5, in_batches(true) - prefetches);
    const double alone = LeastTime(config_.repetitions, kCalls, [&] {
      for (const FrameId frame : hits) algorithm->OnHit(frame);
    });
    TurnCounters next;
    const auto turn = [&](uint32_t count) {
      return TurnTime([&](uint32_t thread) {
        for (uint32_t i = 0; i < count; ++i) algorithm->OnHit(hits[next.Take(thread) % kCalls]);
      });
    };
    costs->moved = std::max(0.0, turn(1) - turn_ - alone);
    const double batch_moved = turn(kBatch) - turn_ - kBatch * alone - costs->moved;
    costs->batch_moved = std::max(0.0, batch_moved / (kBatch - 1));
    uint64_t page = config_.pages;
    costs->load = LeastTime(config_.repetitions, kCalls / 10, [&] {
      for (uint32_t i = 0; i < kCalls / 10; ++i, ++page) {
        const FrameId frame = algorithm->Victim(PageId{page}, [](FrameId) { return true; });
        algorithm->OnLoad(frame, PageId{page}, LoadKind::kDemand);
      }
    });
  }

  absl::Status MeasureQueues() {
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime queued,
                              TimeOf(kReference, "bp-wrapper:free_lists=1:refill=1"));
    const double reported = costs_.algorithms[kReference].batched_hit + costs_.lock / kThreshold;
    costs_.queue = std::max(0.5, queued.time - costs_.access - reported);
    return absl::OkStatus();
  }

  // Misses as the pattern makes them in a pool for a quarter of the pages.
  absl::Status MeasureMisses() {
    const AlgorithmCosts& reference = costs_.algorithms[kReference];
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime locked, TimeOf(kReference, "global", false));
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime lock_free, TimeOf("gclock", "nb-gclock", false));
    const double of_hits = (1 - locked.miss_ratio) * (reference.hit + costs_.lock);
    const double miss = (locked.time - costs_.access - of_hits) / locked.miss_ratio;
    costs_.miss = std::max(1.0, miss - reference.load - 1.5 * costs_.lock);
    const double swept = (lock_free.time - costs_.access) / lock_free.miss_ratio;
    costs_.sweep = std::max(0.0, swept - costs_.miss);
    return MeasureMovedMisses();
  }

  // What each of two threads counts for itself: a counter of both would be one more line that travels.
  struct TurnCounters {
    struct alignas(128) Counter {
      uint64_t value = 0;
    };
    Counter counters[2];
    /// Even numbers for one of them, odd ones for the other.
    uint64_t Take(uint32_t thread) { return 2 * counters[thread].value++ + thread; }
  };

  // Two threads miss in turns, without a lock.
  absl::Status MeasureMovedMisses() {
    LATCHKEY_ASSIGN_OR_RETURN(const FullPool full, MakePool("gclock", "nb-gclock", false));
    TurnCounters next;
    const auto miss = [&](uint32_t thread) {  // in sequence, so that none of the pages is there
      OptimisticGuard guard;
      const PageId page{next.Take(thread) % config_.pages};
      full.pool->FixOptimistic(full.pool->Here(), page, &guard).IgnoreError();
    };
    const double alone = LeastTime(config_.repetitions, kCalls / 10, [&] {
      for (uint32_t i = 0; i < kCalls / 10; ++i) miss(0);
    });
    const double in_turns = TurnTime(miss);
    constexpr double kHotWords = 2;  // hand, free frames: the model charges their transfers
    costs_.moved_miss = std::max(0.0, in_turns - alone - turn_ - kHotWords * costs_.transfer);
    return absl::OkStatus();
  }

  // The least time of a turn in which one of two threads, each in its turn, calls body(thread).
  double TurnTime(absl::FunctionRef<void(uint32_t thread)> body) {
    constexpr uint32_t kTurns = 200;
    constexpr uint32_t kSpins = 1000;
    constexpr Nanos kMostTime = 300 * kNanosPerMilli;
    Runtime& runtime = ThreadRuntime();
    struct alignas(128) Turn {
      std::atomic<uint32_t> value{0};
    } turn;
    std::atomic<bool> ended{false};
    const auto play = [&](uint32_t thread, uint32_t turns) {
      for (uint32_t i = 0; i < turns; ++i) {
        for (uint32_t spins = 1; (turn.value.load(std::memory_order_acquire) & 1) != thread;) {
          if (ended.load(std::memory_order_relaxed)) return;
          if (++spins % kSpins == 0) runtime.BackOff(6);  // others may need this processor
        }
        body(thread);
        turn.value.fetch_add(1, std::memory_order_acq_rel);
      }
    };
    const auto other = runtime.Spawn("calibrate", [&] { play(1, UINT32_MAX); });
    double time = std::numeric_limits<double>::infinity();
    const Nanos end = runtime.Now() + kMostTime;
    for (uint32_t i = 0; i < 10 * config_.repetitions && (i == 0 || runtime.Now() < end); ++i) {
      if (Stopped()) break;
      time = std::min(time, LeastTime(1, 2 * kTurns, [&] { play(0, kTurns); }));
    }
    ended.store(true);
    other->Join();
    return time;
  }

  // One thread wakes another, which falls asleep again.
  void MeasureSleepers() {
    Runtime& runtime = ThreadRuntime();
    std::atomic<uint32_t> word{0}, reply{0};
    costs_.sleep = LeastTime(config_.repetitions, kCalls / 10, [&] {
      for (uint32_t i = 0; i < kCalls / 10; ++i) runtime.WaitOnWord(word, 1, kForever);
    });
    std::atomic<bool> ended{false};
    const auto other = runtime.Spawn("calibrate", [&] {
      for (uint32_t seen = 0; !ended.load(); seen = word.load()) {
        while (word.load() == seen) runtime.WaitOnWord(word, seen, kNanosPerSecond);
        reply.fetch_add(1);
      }
    });
    constexpr Nanos kFallsAsleep = 50 * kNanosPerMicro;
    std::vector<double> wakes, runs;
    for (uint32_t i = 0; i < 4 * config_.repetitions && !Stopped(); ++i) {
      runtime.SleepFor(kFallsAsleep);
      const Nanos start = runtime.Now();
      const uint32_t before = reply.load();
      word.fetch_add(1);
      runtime.Wake(word, 1);
      wakes.push_back(static_cast<double>(runtime.Now() - start));
      for (uint32_t spins = 0; reply.load() == before; ++spins) runtime.BackOff(spins % 6);
      runs.push_back(static_cast<double>(runtime.Now() - start));
    }
    ended.store(true);
    word.fetch_add(1);
    runtime.Wake(word, 1);
    other->Join();
    if (Stopped()) return;  // there may be none
    // The medians: the least are those of wake-ups that came before the thread was asleep.
    std::nth_element(wakes.begin(), wakes.begin() + wakes.size() / 2, wakes.end());
    std::nth_element(runs.begin(), runs.begin() + runs.size() / 2, runs.end());
    costs_.wake = wakes[wakes.size() / 2];
    costs_.switching = std::max(0.0, runs[runs.size() / 2] - costs_.wake);
  }

  const CalibrationConfig& config_;
  ModelCosts costs_;
  double turn_ = 0;  // ns, between threads that take turns and do nothing else
};

}  // namespace

absl::StatusOr<ModelCosts> Calibrate(const CalibrationConfig& config) {
  constexpr uint64_t kFewestPages = 1024;
  if (config.pages < kFewestPages || config.pages > UINT32_MAX / 2) {
    return InvalidArgument("a calibration with {} pages: give {} to {} pages", config.pages,
                           kFewestPages, UINT32_MAX / 2);
  }
  return Calibrator(config).Run();
}

}  // namespace latchkey
