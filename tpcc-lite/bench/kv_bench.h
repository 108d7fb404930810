// The KV benchmark: single operations over a KvBackend, each committed by itself.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tpcc-lite/bench/kv_workload.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// Names of the benchmark's tables: it has one, table 0.
std::vector<std::string> KvBenchTableNames();

inline constexpr uint32_t kMinKvBenchKeySize = 8;
inline constexpr uint32_t kMaxKvBenchKeySize = 511;  // LMDB's limit
inline constexpr uint32_t kMaxKvBenchValueSize = 1 << 20;
inline constexpr uint64_t kMostKvBenchBatch = 100'000;

struct KvBenchConfig {
  // The database: records 0 to records - 1, numbered in key order.
  uint64_t records = 1'000'000;  ///< >= 1
  uint32_t key_size = 8;         ///< bytes, kMinKvBenchKeySize to kMaxKvBenchKeySize
  uint32_t value_size = 100;     ///< bytes, 1 to kMaxKvBenchValueSize
  uint64_t seed = 42;

  // The run.
  const KvWorkload* workload = nullptr;
  uint32_t threads = 1;      ///< 1 to 1024
  double zipf_theta = 0.99;  ///< > 0
  uint64_t batch = 1;  ///< puts of a transaction, 1 to kMostKvBenchBatch; above 1: only_puts()
  /// Scans everything once before the warm-up, so that a database that fits the cache is cached.
  bool scan_first = false;
  Nanos warmup = 0;
  Nanos duration = 10 * kNanosPerSecond;  ///< ignored with `operations`, and by FixedOperations
  uint64_t operations = 0;                ///< in total, split over the threads; 0 = for `duration`
  const std::atomic<bool>* stop = nullptr;

  absl::Status Validate() const;
  uint64_t DataBytes() const { return records * (uint64_t{key_size} + value_size); }
  /// The records that a load inserts, a deletion deletes or a scan of everything reads; else 0. So
  /// many operations are run, without warm-up, whatever `operations` and `duration` say.
  uint64_t FixedOperations() const;
  /// The first of them.
  uint64_t FirstRecord() const;
};

/// Operations completed within one second of a run. The last sample may be shorter.
struct KvBenchSample {
  double end_s = 0, seconds = 0;
  uint64_t operations = 0;
  std::optional<LatencySummary> latency_us;  ///< nullopt: none was timed
};

struct KvBenchResult {
  bool interrupted = false;
  double duration_s = 0;
  /// In that time. A scan is one; a range delete, or a scan of everything, is one for each record.
  uint64_t operations = 0;
  uint64_t retries = 0;     ///< conflicts: attempts that were run again
  /// Measured for one operation in eight, so that reading the clock does not slow down the run; with
  /// KvBenchConfig::batch, of each transaction.
  std::optional<LatencySummary> latency_us;
  std::vector<KvBenchSample> samples;

  double OperationsPerSecond() const {
    return duration_s > 0 ? static_cast<double>(operations) / duration_s : 0;
  }
};

struct KvBenchHooks {
  std::function<void(const KvBenchSample&)> on_sample;
  std::function<void()> on_measure_begin;
  std::function<void()> on_measure_end;  ///< what ends from now on does not count
};

/// Fills an empty database in key order, in large transactions, and makes a checkpoint. Cancelled:
/// config.stop was set.
absl::Status LoadKvBench(KvBackend& backend, const KvBenchConfig& config,
                         const std::function<void(uint64_t done, uint64_t total)>& progress = {});

/// Runs config.workload. DataLoss: a record is missing or differs from the load. Cancelled:
/// config.stop was set before the measured part began, so nothing was measured.
absl::StatusOr<KvBenchResult> RunKvBench(KvBackend& backend, const KvBenchConfig& config,
                                         const KvBenchHooks& hooks = {},
                                         Runtime& runtime = ThreadRuntime());

}  // namespace latchkey
