// RunTpcc: spawns the users, keeps the time, takes the samples, and sums up the results.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "storage/runtime/mutex.h"
#include "tpcc-lite/workload/description.h"
#include "tpcc-lite/workload/tpcc_driver.h"
#include "tpcc-lite/workload/tpcc_user.h"

namespace latchkey {
namespace {

// Upper bound of the delay after a stop request.
constexpr Nanos kStopLatency = 50 * kNanosPerMilli;

struct Totals {
  uint64_t transactions = 0, new_orders = 0, aborts = 0;
};

class TpccRun {
 public:
  TpccRun(KvBackend& backend, const TpccConfig& config, const TpccRunHooks& hooks, Runtime& runtime)
      : backend_(backend), config_(config), hooks_(hooks), runtime_(runtime), mutex_(runtime) {}

  absl::StatusOr<TpccResult> Run();

 private:
  void AddUsers(const TpccDistributions& distributions, uint16_t run);
  uint64_t QuotaOf(uint32_t user) const;
  void SpawnUsers();
  void Work(TpccUser& user);
  /// Takes samples until `deadline`, a stop request, or the end of the last user.
  void WaitUntil(Nanos deadline, bool sampling);
  bool StopRequested() const {
    return config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed);
  }
  bool UsersLeft() const { return finished_.load(std::memory_order_acquire) < users_.size(); }
  /// Ends the users. Returns Cancelled, or the error of a user.
  absl::Status StopBeforeMeasuring();
  void BeginMeasuring();
  void TakeSample(Nanos now);
  Totals Sum() const;
  LatencyHistogram SumOfLatencies() const;
  void Summarize();

  KvBackend& backend_;
  const TpccConfig& config_;
  const TpccRunHooks& hooks_;
  Runtime& runtime_;

  std::vector<std::unique_ptr<TpccUser>> users_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::atomic<RunPhase> phase_{RunPhase::kWarmup};
  std::atomic<uint32_t> finished_{0};
  Mutex mutex_;
  absl::Status error_;  // the first error; guarded by mutex_

  Nanos begin_ = 0;        // of the measured part
  Nanos last_sample_ = 0;  // end of the last sample
  Totals sampled_;         // totals at the end of the last sample
  LatencyHistogram sampled_latencies_;
  TpccResult result_;
};

absl::StatusOr<TpccResult> TpccRun::Run() {
  LATCHKEY_ASSIGN_OR_RETURN(const auto description, ReadTpccDescription(backend_));
  LATCHKEY_ASSIGN_OR_RETURN(const uint16_t run, BeginTpccRun(backend_));
  AddUsers(TpccDistributions::ForRun(config_.Sizes(), config_.seed + run,
                                     description->last_name_constant),
           run);
  if (config_.warmup == 0) BeginMeasuring();
  SpawnUsers();
  if (config_.warmup > 0) {
    WaitUntil(runtime_.Now() + config_.warmup, /*sampling=*/false);
    if (StopRequested()) return StopBeforeMeasuring();
    BeginMeasuring();
  }
  WaitUntil(config_.transactions > 0 ? kForever : begin_ + config_.duration, /*sampling=*/true);
  result_.interrupted = StopRequested() && (UsersLeft() || config_.transactions == 0);
  phase_.store(RunPhase::kStop, std::memory_order_relaxed);
  const Nanos end = runtime_.Now();
  if (hooks_.on_measure_end) hooks_.on_measure_end();
  for (auto& actor : actors_) actor->Join();
  if (end > last_sample_) TakeSample(end);
  LATCHKEY_RETURN_IF_ERROR(error_);
  result_.duration_s = static_cast<double>(end - begin_) / kNanosPerSecond;
  Summarize();
  return std::move(result_);
}

absl::Status TpccRun::StopBeforeMeasuring() {
  phase_.store(RunPhase::kStop, std::memory_order_relaxed);
  for (auto& actor : actors_) actor->Join();
  LATCHKEY_RETURN_IF_ERROR(error_);
  return absl::CancelledError("interrupted before anything was measured");
}

uint64_t TpccRun::QuotaOf(uint32_t user) const {
  if (config_.transactions == 0) return TpccUser::kNoQuota;
  const uint64_t remainder = config_.transactions % config_.users;
  return config_.transactions / config_.users + (user < remainder ? 1 : 0);
}

void TpccRun::AddUsers(const TpccDistributions& distributions, uint16_t run) {
  const bool fixed_homes = config_.users >= config_.warehouses;
  for (uint32_t i = 0; i < config_.users; ++i) {
    const uint32_t home = fixed_homes ? 1 + i % config_.warehouses : 0;
    const InputGenerator inputs(config_.Sizes(), distributions, config_.seed + run, i,
                                static_cast<uint16_t>(home));
    const TpccClient::Options options{
        .prefetch = config_.prefetch, .run = run, .user = static_cast<uint16_t>(i)};
    users_.push_back(std::make_unique<TpccUser>(options, inputs, QuotaOf(i), phase_,
                                                hooks_.on_new_order, runtime_));
  }
}

void TpccRun::SpawnUsers() {
  for (auto& user : users_) {
    actors_.push_back(runtime_.Spawn("tpcc-user", [this, &user] { Work(*user); }));
  }
}

void TpccRun::Work(TpccUser& user) {
  absl::Status status = user.Run(backend_);
  if (!status.ok()) {
    MutexLock lock(mutex_);
    error_.Update(std::move(status));
    phase_.store(RunPhase::kStop, std::memory_order_relaxed);
  }
  finished_.fetch_add(1, std::memory_order_acq_rel);
  runtime_.Wake(finished_, 1);
}

void TpccRun::WaitUntil(Nanos deadline, bool sampling) {
  while (true) {
    const uint32_t finished = finished_.load(std::memory_order_acquire);
    const Nanos now = runtime_.Now();
    if (sampling && now - last_sample_ >= kNanosPerSecond) TakeSample(now);
    if (finished == users_.size() || now >= deadline || StopRequested()) return;
    if (phase_.load(std::memory_order_relaxed) == RunPhase::kStop) return;
    Nanos wait = std::min(deadline - now, kStopLatency);
    if (sampling) wait = std::min(wait, last_sample_ + kNanosPerSecond - runtime_.Now());
    runtime_.WaitOnWord(finished_, finished, std::min(wait, kStopLatency));
  }
}

void TpccRun::BeginMeasuring() {
  begin_ = last_sample_ = runtime_.Now();
  RunPhase expected = RunPhase::kWarmup;  // differs if a user has failed meanwhile
  phase_.compare_exchange_strong(expected, RunPhase::kMeasure, std::memory_order_relaxed);
  if (hooks_.on_measure_begin) hooks_.on_measure_begin();
}

Totals TpccRun::Sum() const {
  Totals totals;
  for (const auto& user : users_) {
    UserStatistics& statistics = user->statistics();
    for (UserStatistics::Type& type : statistics.types) {
      totals.transactions += type.commits.load(std::memory_order_relaxed) +
                             type.rollbacks.load(std::memory_order_relaxed);
      totals.aborts += type.aborts.load(std::memory_order_relaxed);
    }
    totals.new_orders +=
        statistics.Of(TpccTransaction::kNewOrder).commits.load(std::memory_order_relaxed);
  }
  return totals;
}

LatencyHistogram TpccRun::SumOfLatencies() const {
  LatencyHistogram sum;
  for (const auto& user : users_) {
    for (const UserStatistics::Type& type : user->statistics().types) sum.Merge(type.latency);
  }
  return sum;
}

void TpccRun::TakeSample(Nanos now) {
  const Totals totals = Sum();
  LatencyHistogram latencies = SumOfLatencies();
  const TpccSample sample{
      .end_s = static_cast<double>(now - begin_) / kNanosPerSecond,
      .seconds = static_cast<double>(now - last_sample_) / kNanosPerSecond,
      .transactions = totals.transactions - sampled_.transactions,
      .new_orders = totals.new_orders - sampled_.new_orders,
      .aborts = totals.aborts - sampled_.aborts,
      .latency_us = latchkey::Summarize(latencies.Since(sampled_latencies_)),
  };
  sampled_latencies_ = std::move(latencies);
  last_sample_ = now;
  sampled_ = totals;
  result_.samples.push_back(sample);
  if (hooks_.on_sample) hooks_.on_sample(sample);
}

void TpccRun::Summarize() {
  for (size_t t = 0; t < kTpccTransactions; ++t) {
    LatencyHistogram latency;
    TpccTypeResult& sum = result_.types[t];
    for (const auto& user : users_) {
      UserStatistics::Type& type = user->statistics().types[t];
      sum.commits += type.commits.load(std::memory_order_relaxed);
      sum.rollbacks += type.rollbacks.load(std::memory_order_relaxed);
      sum.aborts += type.aborts.load(std::memory_order_relaxed);
      latency.Merge(type.latency);
    }
    sum.latency_us = latchkey::Summarize(latency);
  }
}

}  // namespace

absl::StatusOr<TpccResult> RunTpcc(KvBackend& backend, const TpccConfig& config,
                                   const TpccRunHooks& hooks, Runtime& runtime) {
  LATCHKEY_ASSIGN_OR_RETURN(const bool prepared, IsTpccPrepared(backend, config));
  if (!prepared) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the database is empty: prepare it first");
  }
  return TpccRun(backend, config, hooks, runtime).Run();
}

}  // namespace latchkey
