#include <algorithm>
#include <memory>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/mutex.h"
#include "tpcc-lite/bench/kv_bench.h"
#include "tpcc-lite/bench/kv_bench_data.h"
#include "tpcc-lite/bench/zipf.h"
#include "tpcc-lite/workload/latency_histogram.h"

namespace latchkey {
namespace {

// One operation in this many reads the clock, to take its latency and to check the deadline.
constexpr uint64_t kTimedEvery = 8;
constexpr uint64_t kMaxScanLength = 100;

enum class Phase : uint32_t { kStarting, kWarming, kMeasuring, kOver };

/// Shared by the workers and the actor that keeps the time.
struct Shared {
  Shared(const KvBenchConfig& bench_config, Runtime& bench_runtime)
      : config(bench_config),
        runtime(bench_runtime),
        zipf(bench_config.records, bench_config.zipf_theta),
        scramble(bench_config.records, bench_config.seed),
        values(bench_config.value_size, bench_config.seed),
        next_insert(bench_config.records),
        mutex(bench_runtime) {}

  bool Stopped() const {
    return config.stop != nullptr && config.stop->load(std::memory_order_relaxed);
  }
  bool Over() const { return phase.load(std::memory_order_acquire) == Phase::kOver; }

  const KvBenchConfig& config;
  Runtime& runtime;
  const ZipfGenerator zipf;
  const Permutation scramble;
  const KvBenchValues values;
  std::atomic<Phase> phase{Phase::kStarting};
  std::atomic<uint64_t> next_insert;
  std::atomic<uint32_t> ready{0};
  std::atomic<uint32_t> finished{0};
  Mutex mutex;
  absl::Status error;  // the first one; guarded by mutex
};

/// Operations that a worker completes in the measured part; 0 = until the time is over.
uint64_t QuotaOf(const KvBenchConfig& config, uint32_t worker) {
  const uint64_t fixed = config.FixedOperations();
  const uint64_t total = fixed != 0 ? fixed : config.operations;
  return total / config.threads + (worker < total % config.threads ? 1 : 0);
}

/// First record that a worker loads or deletes: behind the quotas of the workers before it.
uint64_t StartOf(const KvBenchConfig& config, uint32_t worker) {
  const uint64_t fixed = config.FixedOperations();
  const uint64_t extra = fixed % config.threads;
  return config.FirstRecord() + fixed / config.threads * worker + std::min<uint64_t>(worker, extra);
}

absl::Status Missing(uint64_t record) {
  return MakeStatus(absl::StatusCode::kDataLoss, "record {} is missing", record);
}

class Worker {
 public:
  Worker(Shared& shared, KvBackend& backend, uint32_t index)
      : shared_(shared),
        config_(shared.config),
        backend_(backend),
        index_(index),
        rng_(config_.seed + (uint64_t{index} + 1) * 0x9E3779B97F4A7C15u),
        key_(config_.key_size),
        limited_(config_.FixedOperations() > 0 || config_.operations > 0) {}

  void Run();

  /// Completed so far, warm-up included. Other actors read it during the run.
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  const LatencyHistogram& histogram() const { return histogram_; }
  // Valid after Run has returned:
  uint64_t retries() const { return retries_; }
  Nanos end() const { return end_; }

 private:
  absl::Status Loop();
  absl::Status RunOperation();
  absl::Status Attempt();
  absl::Status Read(uint64_t record);
  absl::Status Scan(uint64_t record);
  absl::Status ReadModifyWrite(uint64_t record);
  absl::Status InsertNext();
  absl::Status LoadNext();
  absl::Status LoadAll();
  absl::Status PutBatch();
  absl::Status DeleteNext();
  absl::Status UpdatePart();
  absl::Status ScanPart();
  absl::Status CheckValue() const;
  uint64_t RecordToLoad(uint64_t place) const {
    return config_.workload->sequential ? place : shared_.scramble(place);
  }
  uint64_t ChooseRecord() {
    if (!config_.workload->zipf) return rng_.Below(config_.records);
    return shared_.scramble(shared_.zipf.Next(rng_));
  }
  void BeginMeasuring() {
    measuring_ = true;
    histogram_.Clear();
    retries_ = 0;
    measured_ = 0;
  }

  Shared& shared_;
  const KvBenchConfig& config_;
  KvBackend& backend_;
  const uint32_t index_;
  Rng rng_;
  KvBenchKey key_;
  const bool limited_;
  std::unique_ptr<KvSession> session_;
  std::string value_;
  bool measuring_ = false;
  uint64_t measured_ = 0;
  uint64_t retries_ = 0;
  uint64_t next_record_ = 0;  // of a load or deletion
  uint64_t step_ = 1;         // operations that one attempt completes
  std::vector<std::string> keys_;  // of the batch
  std::vector<KvRecord> batch_;
  Nanos end_ = 0;
  LatencyHistogram histogram_;
  // Written after every operation, so it shares no cache line with data that other actors write.
  alignas(64) std::atomic<uint64_t> done_{0};
};

void Worker::Run() {
  absl::Status status = Loop();
  end_ = shared_.runtime.Now();
  if (!status.ok()) {
    MutexLock lock(shared_.mutex);
    if (shared_.error.ok()) shared_.error = std::move(status);
    shared_.phase.store(Phase::kOver, std::memory_order_release);
  }
  shared_.finished.fetch_add(1, std::memory_order_release);
}

absl::Status Worker::Loop() {
  absl::StatusOr<std::unique_ptr<KvSession>> session = backend_.NewSession();
  next_record_ = StartOf(config_, index_);
  absl::Status prepared = session.status();
  if (prepared.ok()) {
    session_ = *std::move(session);
    prepared = UpdatePart();
  }
  shared_.ready.fetch_add(1, std::memory_order_release);
  LATCHKEY_RETURN_IF_ERROR(prepared);
  const uint64_t quota = limited_ ? QuotaOf(config_, index_) : UINT64_MAX;
  while (shared_.phase.load(std::memory_order_acquire) == Phase::kStarting) {
    shared_.runtime.SleepFor(kNanosPerMilli);
  }
  for (uint64_t i = 0;; ++i) {
    if (measuring_ && measured_ >= quota) return absl::OkStatus();
    const bool timed = i % kTimedEvery == 0 || config_.batch > 1;
    if (timed) {
      const Phase phase = shared_.phase.load(std::memory_order_acquire);
      if (phase == Phase::kOver) return absl::OkStatus();
      if (phase == Phase::kMeasuring && !measuring_) BeginMeasuring();
      if (measuring_ && measured_ >= quota) return absl::OkStatus();
    }
    const Nanos start = timed ? shared_.runtime.Now() : 0;
    step_ = measuring_ ? std::min(config_.batch, quota - measured_) : config_.batch;
    LATCHKEY_RETURN_IF_ERROR(RunOperation());
    if (timed) histogram_.Record(shared_.runtime.Now() - start);
    measured_ += step_;
    done_.store(done_.load(std::memory_order_relaxed) + step_, std::memory_order_relaxed);
  }
}

// Updates as many records as this worker will scan, in random order. They lie anywhere in the table,
// and no other worker has the same ones.
absl::Status Worker::UpdatePart() {
  const uint64_t part = QuotaOf(config_, index_);
  for (uint32_t round = 0; round < config_.workload->updates_before; ++round) {
    for (uint64_t i = 0; i < part && !shared_.Stopped(); ++i) {
      const uint64_t record = shared_.scramble(next_record_ + i);
      absl::Status updated;
      do {
        updated = session_->PutAuto(0, key_.Of(record), shared_.values.Next(rng_));
      } while (absl::IsAborted(updated));
      LATCHKEY_RETURN_IF_ERROR(updated);
    }
  }
  return absl::OkStatus();
}

absl::Status Worker::RunOperation() {
  for (Backoff backoff(shared_.runtime);; backoff.Pause()) {
    const Rng before = rng_;
    absl::Status status = Attempt();
    if (!absl::IsAborted(status)) return status;
    if (shared_.Over()) return absl::OkStatus();
    ++retries_;
    rng_ = before;  // repeats the same operation
  }
}

absl::Status Worker::Attempt() {
  const KvMix& mix = config_.workload->mix;
  if (config_.workload->bulk) return LoadAll();
  if (config_.batch > 1) return PutBatch();
  if (config_.workload->load) return LoadNext();
  if (config_.workload->removal != KvWorkload::Removal::kNone) return DeleteNext();
  if (config_.workload->scans_all) return ScanPart();
  double choice = rng_.Unit();
  if ((choice -= mix.read) < 0) return Read(ChooseRecord());
  if ((choice -= mix.update) < 0) {
    return session_->PutAuto(0, key_.Of(ChooseRecord()), shared_.values.Next(rng_));
  }
  if ((choice -= mix.scan) < 0) return Scan(ChooseRecord());
  if ((choice -= mix.read_modify_write) < 0) return ReadModifyWrite(ChooseRecord());
  // Rounding may leave a rest above the last share. It counts for the last operation of the mix.
  if (mix.insert > 0) return InsertNext();
  return mix.read_modify_write > 0 ? ReadModifyWrite(ChooseRecord()) : Read(ChooseRecord());
}

absl::Status Worker::LoadNext() {
  const std::string_view key = key_.Of(RecordToLoad(next_record_));
  LATCHKEY_RETURN_IF_ERROR(session_->PutAuto(0, key, shared_.values.Next(rng_)));
  ++next_record_;
  return absl::OkStatus();
}

// Counts each record when the backend takes it.
absl::Status Worker::LoadAll() {
  step_ = 0;
  const uint64_t before = done_.load(std::memory_order_relaxed);
  return session_->LoadSorted(0, [&](KvRecord* record) {
    if (next_record_ == config_.records || shared_.Over()) return false;
    *record = {key_.Of(next_record_++), shared_.values.Next(rng_)};
    measured_ = next_record_;
    done_.store(before + next_record_, std::memory_order_relaxed);
    return true;
  });
}

// The next `step_` records of a load, or as many blind updates, in one transaction.
absl::Status Worker::PutBatch() {
  const bool loads = config_.workload->load;
  keys_.resize(step_);
  batch_.clear();
  for (uint64_t i = 0; i < step_; ++i) {
    keys_[i] = key_.Of(loads ? RecordToLoad(next_record_ + i) : ChooseRecord());
    batch_.push_back({keys_[i], shared_.values.Next(rng_)});
  }
  LATCHKEY_RETURN_IF_ERROR(session_->PutManyAuto(0, batch_));
  if (loads) next_record_ += step_;
  return absl::OkStatus();
}

absl::Status Worker::DeleteNext() {
  if (config_.workload->removal == KvWorkload::Removal::kRange) {
    step_ = QuotaOf(config_, index_);
    const std::string from(key_.Of(next_record_));
    return session_->DeleteRangeAuto(0, from, key_.Of(next_record_ + step_));
  }
  const absl::Status deleted = session_->DeleteAuto(0, key_.Of(next_record_));
  if (absl::IsNotFound(deleted)) return Missing(next_record_);
  LATCHKEY_RETURN_IF_ERROR(deleted);
  ++next_record_;
  return absl::OkStatus();
}

absl::Status Worker::ScanPart() {
  step_ = QuotaOf(config_, index_);
  const std::string from(key_.Of(next_record_));
  uint64_t found = 0;
  LATCHKEY_RETURN_IF_ERROR(session_->Begin());
  const absl::Status status = session_->Scan(0, from, key_.Of(next_record_ + step_), false,
                                             [&](std::string_view, std::string_view value) {
                                               found += value.size() == config_.value_size;
                                               return true;
                                             });
  LATCHKEY_RETURN_IF_ERROR(status);
  LATCHKEY_RETURN_IF_ERROR(session_->Commit());
  if (found == step_) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "a scan of {} records from record {} saw {}",
                    step_, next_record_, found);
}

absl::Status Worker::CheckValue() const {
  if (value_.size() == config_.value_size) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "read a value of {} bytes where {} were written",
                    value_.size(), config_.value_size);
}

absl::Status Worker::Read(uint64_t record) {
  absl::Status status = session_->GetAuto(0, key_.Of(record), &value_);
  if (absl::IsNotFound(status)) return Missing(record);
  LATCHKEY_RETURN_IF_ERROR(status);
  return CheckValue();
}

absl::Status Worker::Scan(uint64_t record) {
  static const auto* const end = new std::string(16, '\xff');
  uint64_t left = 1 + rng_.Below(kMaxScanLength);
  uint64_t bytes = 0;
  LATCHKEY_RETURN_IF_ERROR(session_->Begin());
  absl::Status status = session_->Scan(0, key_.Of(record), *end, false,
                                       [&](std::string_view, std::string_view value) {
                                         bytes += value.size();
                                         return --left > 0;
                                       });
  if (absl::IsAborted(status)) return status;
  LATCHKEY_RETURN_IF_ERROR(status);
  LATCHKEY_RETURN_IF_ERROR(session_->Commit());
  if (bytes % config_.value_size == 0 && bytes > 0) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "a scan from record {} saw {} bytes of values",
                    record, bytes);
}

absl::Status Worker::ReadModifyWrite(uint64_t record) {
  LATCHKEY_RETURN_IF_ERROR(session_->Begin());
  LATCHKEY_RETURN_IF_ERROR(session_->GetForUpdate(0, key_.Of(record), &value_));
  LATCHKEY_RETURN_IF_ERROR(CheckValue());
  value_[0] = static_cast<char>(value_[0] + 1);
  LATCHKEY_RETURN_IF_ERROR(session_->Put(0, key_.Of(record), value_));
  return session_->Commit();
}

absl::Status Worker::InsertNext() {
  const uint64_t record = shared_.next_insert.fetch_add(1, std::memory_order_relaxed);
  return session_->PutAuto(0, key_.Of(record), shared_.values.Next(rng_));
}

/// Starts the workers, keeps the time, collects the figures.
class Bench {
 public:
  Bench(KvBackend& backend, const KvBenchConfig& config, const KvBenchHooks& hooks,
        Runtime& runtime)
      : backend_(backend), config_(config), hooks_(hooks), shared_(config, runtime) {}

  absl::StatusOr<KvBenchResult> Run();

 private:
  bool Stopped() const { return shared_.Stopped(); }
  bool AllFinished() const {
    return shared_.finished.load(std::memory_order_acquire) == config_.threads;
  }
  uint64_t Done() const {
    uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->done();
    return sum;
  }
  absl::Status ScanEverything();
  absl::Status EndUpdates();
  void Spawn();
  void Warm();
  void Measure();
  LatencyHistogram Latencies() const;
  void TakeSample(Nanos now);
  KvBenchResult Collect();

  KvBackend& backend_;
  const KvBenchConfig& config_;
  const KvBenchHooks& hooks_;
  Shared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Actor>> actors_;
  KvBenchResult result_;
  Nanos begin_ = 0;
  Nanos sample_begin_ = 0;
  uint64_t done_at_begin_ = 0;
  uint64_t done_at_sample_ = 0;
  LatencyHistogram latencies_at_sample_;
};

absl::Status Bench::ScanEverything() {
  static const auto* const end = new std::string(16, '\xff');
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvSession> session, backend_.NewSession());
  LATCHKEY_RETURN_IF_ERROR(session->Begin());
  LATCHKEY_RETURN_IF_ERROR(session->Scan(
      0, "", *end, false, [&](std::string_view, std::string_view) { return !Stopped(); }));
  return session->Commit();
}

void Bench::Spawn() {
  for (uint32_t i = 0; i < config_.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(shared_, backend_, i));
  }
  for (uint32_t i = 0; i < config_.threads; ++i) {
    actors_.push_back(shared_.runtime.Spawn(fmt::format("bench-{}", i),
                                            [worker = workers_[i].get()] { worker->Run(); }));
  }
  while (shared_.ready.load(std::memory_order_acquire) < config_.threads) {
    shared_.runtime.SleepFor(kNanosPerMilli);
  }
}

// Writes back what the updates have changed, so that the scans are measured alone.
absl::Status Bench::EndUpdates() {
  absl::Status written = backend_.Checkpoint();
  if (written.ok()) return written;
  shared_.phase.store(Phase::kOver, std::memory_order_release);
  for (auto& actor : actors_) actor->Join();
  return written;
}

void Bench::Warm() {
  if (config_.warmup == 0 || config_.FixedOperations() > 0) return;
  shared_.phase.store(Phase::kWarming, std::memory_order_release);
  const Nanos end = shared_.runtime.Now() + config_.warmup;
  while (shared_.runtime.Now() < end && !Stopped() && !AllFinished()) {
    shared_.runtime.SleepFor(10 * kNanosPerMilli);
  }
}

LatencyHistogram Bench::Latencies() const {
  LatencyHistogram latencies;
  for (const auto& worker : workers_) latencies.Merge(worker->histogram());
  return latencies;
}

void Bench::TakeSample(Nanos now) {
  const uint64_t done = Done();
  LatencyHistogram latencies = Latencies();
  KvBenchSample sample;
  sample.end_s = static_cast<double>(now - begin_) / kNanosPerSecond;
  sample.seconds = static_cast<double>(now - sample_begin_) / kNanosPerSecond;
  sample.operations = done - done_at_sample_;
  sample.latency_us = Summarize(latencies.Since(latencies_at_sample_));
  done_at_sample_ = done;
  latencies_at_sample_ = std::move(latencies);
  sample_begin_ = now;
  result_.samples.push_back(sample);
  if (hooks_.on_sample) hooks_.on_sample(sample);
}

void Bench::Measure() {
  if (hooks_.on_measure_begin) hooks_.on_measure_begin();
  // Before the workers may begin: they may end before this actor reaches its next line.
  begin_ = sample_begin_ = shared_.runtime.Now();
  done_at_begin_ = done_at_sample_ = Done();
  // If a worker has failed, the state is kOver already and stays.
  Phase before = shared_.phase.load(std::memory_order_acquire);
  while (before != Phase::kOver &&
         !shared_.phase.compare_exchange_weak(before, Phase::kMeasuring)) {
  }
  const bool limited = config_.FixedOperations() > 0 || config_.operations > 0;
  const Nanos end = limited ? kForever : begin_ + config_.duration;
  for (;;) {
    const Nanos now = shared_.runtime.Now();
    if (now - sample_begin_ >= kNanosPerSecond) TakeSample(now);
    if (now >= end || AllFinished() || shared_.Over()) break;
    if (Stopped()) {
      result_.interrupted = true;
      break;
    }
    shared_.runtime.SleepFor(std::min<Nanos>(5 * kNanosPerMilli, end - now));
  }
}

KvBenchResult Bench::Collect() {
  const bool all_done = AllFinished();
  const Nanos now = shared_.runtime.Now();
  result_.operations = Done() - done_at_begin_;
  shared_.phase.store(Phase::kOver, std::memory_order_release);
  if (hooks_.on_measure_end) hooks_.on_measure_end();
  for (auto& actor : actors_) actor->Join();
  Nanos last = begin_;
  for (const auto& worker : workers_) {
    result_.retries += worker->retries();
    last = std::max(last, worker->end());
  }
  const Nanos end = all_done ? last : now;
  result_.duration_s = static_cast<double>(end - begin_) / kNanosPerSecond;
  if (end > sample_begin_) TakeSample(end);
  result_.latency_us = Summarize(Latencies());
  return result_;
}

absl::StatusOr<KvBenchResult> Bench::Run() {
  if (config_.scan_first && !config_.workload->load) LATCHKEY_RETURN_IF_ERROR(ScanEverything());
  Spawn();
  if (config_.workload->updates_before > 0) LATCHKEY_RETURN_IF_ERROR(EndUpdates());
  Warm();
  const bool stopped_before = Stopped();
  Measure();
  KvBenchResult result = Collect();
  MutexLock lock(shared_.mutex);
  LATCHKEY_RETURN_IF_ERROR(shared_.error);
  if (stopped_before) return absl::CancelledError("interrupted before anything was measured");
  return result;
}

}  // namespace

absl::StatusOr<KvBenchResult> RunKvBench(KvBackend& backend, const KvBenchConfig& config,
                                         const KvBenchHooks& hooks, Runtime& runtime) {
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  return Bench(backend, config, hooks, runtime).Run();
}

}  // namespace latchkey
