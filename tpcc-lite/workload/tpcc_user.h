// One user of a run: a closed loop of transactions over its own session, with its measurements.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/workload/inputs.h"
#include "tpcc-lite/workload/latency_histogram.h"
#include "tpcc-lite/workload/tpcc_client.h"
#include "tpcc-lite/workload/tpcc_driver.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// The phase of a run: written by the driver, read by every user once per transaction.
enum class RunPhase : uint32_t { kWarmup, kMeasure, kStop };

/// Counts of a user. Only the user writes them. The driver reads them at any time. On its own cache
/// lines.
struct alignas(128) UserStatistics {
  struct Type {
    std::atomic<uint64_t> commits{0}, rollbacks{0}, aborts{0};
    LatencyHistogram latency;
  };
  std::array<Type, kTpccTransactions> types;

  Type& Of(TpccTransaction type) { return types[static_cast<size_t>(type)]; }
  /// REQUIRES: called by the user's actor.
  static void Increment(std::atomic<uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

class TpccUser {
 public:
  static constexpr uint64_t kNoQuota = UINT64_MAX;

  /// `quota`: transactions to complete in the measured part; kNoQuota = until the phase is kStop.
  /// `on_new_order` may be empty; it must outlive the user.
  TpccUser(const TpccClient::Options& options, const InputGenerator& inputs, uint64_t quota,
           const std::atomic<RunPhase>& phase, const TpccNewOrderCallback& on_new_order,
           Runtime& runtime)
      : options_(options),
        inputs_(inputs),
        quota_(quota),
        phase_(phase),
        on_new_order_(on_new_order),
        runtime_(runtime) {}

  /// Opens a session of `backend` and works until the quota is done or the phase is kStop. Returns
  /// an error only if the backend failed.
  absl::Status Run(KvBackend& backend);

  UserStatistics& statistics() { return statistics_; }

 private:
  absl::Status Loop(TpccClient& client);
  /// Draws the input of one transaction and repeats the transaction until it is done.
  /// `*rolled_back`: whether the user rolled it back. Cancelled: the run stopped between two
  /// attempts.
  absl::Status Execute(TpccClient& client, TpccTransaction type, bool* rolled_back);
  template <typename Attempt>
  absl::Status Repeat(TpccTransaction type, const Attempt& attempt);
  bool Stopped() const { return phase_.load(std::memory_order_relaxed) == RunPhase::kStop; }
  bool Measuring() const { return phase_.load(std::memory_order_relaxed) == RunPhase::kMeasure; }

  const TpccClient::Options options_;
  InputGenerator inputs_;
  const uint64_t quota_;
  const std::atomic<RunPhase>& phase_;
  const TpccNewOrderCallback& on_new_order_;
  Runtime& runtime_;
  UserStatistics statistics_;
};

}  // namespace latchkey
