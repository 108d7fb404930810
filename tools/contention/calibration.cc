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

double Median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

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

  // The time of a call of `body`, in ns, when `body` makes `calls` calls: the median of the
  // repetitions, since a run of the emulator has slow phases, too. None begins after `most_time`.
  // Infinity: stopped.
  double TimeOfCall(uint32_t repetitions, uint32_t calls, absl::FunctionRef<void()> body,
                    Nanos most_time = kForever) const {
    Runtime& runtime = ThreadRuntime();
    std::vector<double> times;
    const Nanos begin = runtime.Now();
    for (uint32_t i = 0; i < repetitions && !Stopped(); ++i) {
      const Nanos start = runtime.Now();
      if (i > 0 && start - begin > most_time) break;
      body();
      times.push_back(static_cast<double>(runtime.Now() - start) / calls);
    }
    return times.empty() ? std::numeric_limits<double>::infinity() : Median(times);
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
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime time, TimeIn(*full.pool, *stream, latches));
    if (fits || time.miss_ratio > 0) return time;
    return InvalidArgument(
        "--accesses={}: it misses no page of a pool for a quarter of the {} pages, so that the "
        "cost of a miss cannot be measured; give another pattern or more pages",
        config_.accesses.ToString(), config_.pages);
  }
  absl::StatusOr<AccessTime> TimeIn(BufferPool& pool, AccessStream& stream, bool latches) {
    PoolActor& actor = pool.Here();
    absl::Status failure;
    const auto fix_many = [&] { failure.Update(FixMany(pool, stream, latches)); };
    fix_many();
    const uint64_t misses = actor.LoadsBy(LoadCause::kDemand);
    const double time = TimeOfCall(config_.repetitions, kCalls, fix_many);
    LATCHKEY_RETURN_IF_ERROR(failure);
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    const auto missed = static_cast<double>(actor.LoadsBy(LoadCause::kDemand) - misses);
    return AccessTime{.time = time, .miss_ratio = missed / config_.repetitions / kCalls};
  }
  static absl::Status FixMany(BufferPool& pool, AccessStream& stream, bool latches) {
    PoolActor& actor = pool.Here();
    for (uint32_t i = 0; i < kCalls; ++i) {
      if (latches) {
        SharedGuard guard;
        LATCHKEY_RETURN_IF_ERROR(pool.FixShared(actor, PageId{stream.Next()}, &guard));
      } else {
        OptimisticGuard guard;
        LATCHKEY_RETURN_IF_ERROR(pool.FixOptimistic(actor, PageId{stream.Next()}, &guard));
      }
    }
    return absl::OkStatus();
  }

  absl::Status MeasureAccesses() {
    Runtime& runtime = ThreadRuntime();
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime plain, TimeOf("clock", "global"));
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime pinned, TimeOf("clock", "global", true, true));
    costs_.access = plain.time;
    costs_.pin = std::max(0.0, pinned.time - plain.time);
    SchemeLock lock(runtime, LockKind::kSleep);
    costs_.lock = TimeOfCall(config_.repetitions, kCalls, [&] {
      for (uint32_t i = 0; i < kCalls; ++i) {
        lock.Lock();
        lock.Unlock();
      }
    });
    constexpr uint32_t kWorks = 500;
    costs_.work = TimeOfCall(config_.repetitions, kWorks,
                             [&] {
                               for (uint32_t i = 0; i < kWorks; ++i) Work(runtime, kNanosPerMicro);
                             }) -
                  kNanosPerMicro;
    costs_.spin = TimeOfCall(config_.repetitions, kCalls,
                             [&] {
                               for (uint32_t i = 0; i < kCalls; ++i) runtime.BackOff(0);
                             }) /
                  1.25;  // the simulation adds up to a half
    return absl::OkStatus();
  }

  // A thread that waits for its turn reads the word of turns, and writes it afterwards: the line
  // travels twice. Where the processors of a virtual machine run changes within seconds, and with it
  // the time of a transfer: each cost of moved lines is measured beside such turns.
  double EmptyTurn() {
    return TurnTime([](uint32_t) {});
  }
  // `time` of moved lines, measured beside turns of `empty_turn`, as it is with costs_.transfer.
  double AtReportedTransfer(double time, double empty_turn) const {
    return time * empty_turn_ / empty_turn;
  }
  // What a turn with `body` takes longer than an empty one and than `alone`, the body's own time.
  double MovedIn(double alone, absl::FunctionRef<void(uint32_t thread)> body) {
    const double empty = EmptyTurn();
    return AtReportedTransfer(TurnTime(body) - empty - alone, empty);
  }

  // A word that both only change by atomic writes travels once in each turn.
  absl::Status MeasureTransfer() {
    struct alignas(128) Word {
      std::atomic<uint32_t> value{0};
    } word;
    empty_turn_ = EmptyTurn();
    costs_.transfer = std::max(1.0, MovedIn(0, [&](uint32_t) { word.value.fetch_add(1); }));
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    const double waited = std::max(empty_turn_, costs_.transfer);
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
      return TimeOfCall(config_.repetitions, kCalls, [&] {
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
    const double alone = TimeOfCall(config_.repetitions, kCalls, [&] {
      for (const FrameId frame : hits) algorithm->OnHit(frame);
    });
    TurnCounters next;
    const auto moved_in = [&](uint32_t count) {
      return std::max(0.0, MovedIn(count * alone, [&](uint32_t thread) {
                        for (uint32_t i = 0; i < count; ++i)
                          algorithm->OnHit(hits[next.Take(thread) % kCalls]);
                      }));
    };
    costs->moved = moved_in(1);
    costs->batch_moved = std::max(0.0, moved_in(kBatch) - costs->moved) / (kBatch - 1);
    uint64_t new_page = config_.pages;  // changed by one thread at a time
    const auto load = [&] {
      const PageId page{new_page++};
      const FrameId frame = algorithm->Victim(page, [](FrameId) { return true; });
      algorithm->OnLoad(frame, page, LoadKind::kDemand);
    };
    costs->load = TimeOfCall(config_.repetitions, kCalls / 10, [&] {
      for (uint32_t i = 0; i < kCalls / 10; ++i) load();
    });
    // The line of `new_page` travels, too.
    const double moved_load = MovedIn(costs->load, [&](uint32_t) { load(); }) - costs_.transfer;
    costs->moved_load = std::max(0.0, moved_load);
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

  // Two threads at once, without a lock. What a miss takes longer than with one thread are lines that
  // the other has written: of frames, their reference bytes and the page table.
  absl::Status MeasureMovedMisses() {
    LATCHKEY_ASSIGN_OR_RETURN(const FullPool full, MakePool("gclock", "nb-gclock", false));
    const auto stream_of = [&](uint32_t thread) {
      return config_.accesses.Make(
          AccessPatternConfig{.pages = config_.pages, .thread = thread, .threads = 2});
    };
    const auto own = stream_of(0), others = stream_of(1);
    const double empty = EmptyTurn();
    LATCHKEY_ASSIGN_OR_RETURN(const AccessTime alone, TimeIn(*full.pool, *own, false));
    std::atomic<bool> ended{false};
    const auto other = ThreadRuntime().Spawn("calibrate", [&] {
      while (!ended.load()) FixMany(*full.pool, *others, false).IgnoreError();
    });
    const absl::StatusOr<AccessTime> together = TimeIn(*full.pool, *own, false);
    ended.store(true);
    other->Join();
    LATCHKEY_RETURN_IF_ERROR(together.status());
    const auto of_miss = [&](const AccessTime& time) {
      return time.miss_ratio == 0 ? 0 : (time.time - costs_.access) / time.miss_ratio;
    };
    // With two processors of the model, three of four misses follow a miss of the other processor. The
    // model charges them about one transfer of a hot word, the hand or the free frames.
    constexpr double kFollowing = 0.75;
    const double moved =
        AtReportedTransfer(of_miss(*together) - of_miss(alone), empty) / kFollowing;
    costs_.moved_miss = std::max(0.0, moved - costs_.transfer);
    return GoOn();
  }

  // The median time of a turn in which one of two threads, each in its turn, calls body(thread).
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
    const double time = TimeOfCall(
        10 * config_.repetitions, 2 * kTurns, [&] { play(0, kTurns); }, kMostTime);
    ended.store(true);
    other->Join();
    return time;
  }

  // One thread wakes another, which falls asleep again.
  void MeasureSleepers() {
    Runtime& runtime = ThreadRuntime();
    std::atomic<uint32_t> word{0}, reply{0};
    costs_.sleep = TimeOfCall(config_.repetitions, kCalls / 10, [&] {
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
    costs_.wake = Median(wakes);
    costs_.switching = std::max(0.0, Median(runs) - costs_.wake);
  }

  const CalibrationConfig& config_;
  ModelCosts costs_;
  double empty_turn_ = 0;  // ns, when costs_.transfer was measured
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
