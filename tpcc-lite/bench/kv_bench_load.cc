#include <algorithm>

#include "storage/base/status_macros.h"
#include "tpcc-lite/bench/kv_bench.h"
#include "tpcc-lite/bench/kv_bench_data.h"

namespace latchkey {
namespace {

constexpr uint64_t kRecordsPerTransaction = 1000;

absl::Status LoadBatch(KvSession& session, KvBenchKey& key, const KvBenchValues& values, Rng& rng,
                       uint64_t from, uint64_t to) {
  LATCHKEY_RETURN_IF_ERROR(session.Begin());
  for (uint64_t record = from; record < to; ++record) {
    LATCHKEY_RETURN_IF_ERROR(session.Insert(0, key.Of(record), values.Next(rng)));
  }
  return session.Commit();
}

}  // namespace

std::vector<std::string> KvBenchTableNames() { return {"records"}; }

KvBenchValues::KvBenchValues(uint32_t value_size, uint64_t seed) : value_size_(value_size) {
  Rng rng(seed);
  pool_.resize(value_size + kSlack);
  for (char& byte : pool_) byte = static_cast<char>(rng.Next());
}

absl::Status KvBenchConfig::Validate() const {
  if (records == 0) return InvalidArgument("--records=0: give at least 1");
  if (key_size < kMinKvBenchKeySize || key_size > kMaxKvBenchKeySize) {
    return InvalidArgument("--key-size={}: {} to {} bytes", key_size, kMinKvBenchKeySize,
                           kMaxKvBenchKeySize);
  }
  if (value_size < 1 || value_size > kMaxKvBenchValueSize) {
    return InvalidArgument("--value-size={}: 1 byte to 1 MiB", value_size);
  }
  if (threads < 1 || threads > 1024) return InvalidArgument("--threads={}: 1 to 1024", threads);
  if (!(zipf_theta > 0 && zipf_theta < 10)) {
    return InvalidArgument("--zipf={}: above 0, below 10", zipf_theta);
  }
  if (workload == nullptr) return InvalidArgument("no workload given");
  if (workload->bulk && threads != 1) {
    return InvalidArgument("--threads={}: --workload={} loads with one thread", threads,
                           workload->name);
  }
  if (batch < 1 || batch > kMostKvBenchBatch) {
    return InvalidArgument("--batch={}: 1 to {} puts", batch, kMostKvBenchBatch);
  }
  return absl::OkStatus();
}

uint64_t KvBenchConfig::FirstRecord() const {
  return workload->removal == KvWorkload::Removal::kNone ? 0 : records / 20;
}

uint64_t KvBenchConfig::FixedOperations() const {
  if (workload->load || workload->scans_all) return records;
  return workload->removal == KvWorkload::Removal::kNone ? 0 : records - 2 * FirstRecord();
}

absl::Status LoadKvBench(KvBackend& backend, const KvBenchConfig& config,
                         const std::function<void(uint64_t, uint64_t)>& progress) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvSession> session, backend.NewSession());
  KvBenchKey key(config.key_size);
  const KvBenchValues values(config.value_size, config.seed);
  Rng rng(config.seed);
  for (uint64_t from = 0; from < config.records; from += kRecordsPerTransaction) {
    if (config.stop != nullptr && config.stop->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the load was interrupted");
    }
    const uint64_t to = std::min(from + kRecordsPerTransaction, config.records);
    LATCHKEY_RETURN_IF_ERROR(LoadBatch(*session, key, values, rng, from, to));
    if (progress) progress(to, config.records);
  }
  return backend.Checkpoint();
}

}  // namespace latchkey
