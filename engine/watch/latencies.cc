#include "engine/watch/latencies.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace latchkey {
namespace {

struct Name {
  std::string_view operation, help;
};
constexpr Name kNames[] = {
    {"get", "Get of a transaction or of the database"},
    {"get_for_update", "GetForUpdate, with its wait for a lock"},
    {"put", "Put and Insert of a transaction, with their wait for a lock"},
    {"delete", "Delete of a transaction, with its wait for a lock"},
    {"commit", "Commit of a transaction that has written"},
    {"write", "Put, Delete and Write of the database, with their commit"},
    {"log_sync", "a sync of the log"},
    {"page_read", "a page that a call has to read"},
    {"page_write", "a page that a page cleaner writes, from the layout's acceptance to the device"},
};
static_assert(std::size(kNames) == kTimedKinds);

OperationLatency Named(const Name& name, const RecordedLatencies& recorded) {
  using Buckets = RecordedLatencies::Buckets;
  OperationLatency latency;
  latency.operation = name.operation;
  latency.help = name.help;
  latency.count = recorded.count;
  latency.sum_ns = recorded.sum_ns;
  latency.longest_ns = recorded.longest_ns;
  for (size_t i = 0; i < recorded.buckets.size(); ++i) {
    if (recorded.buckets[i] == 0) continue;
    const bool is_last = i + 1 == recorded.buckets.size();
    latency.buckets.push_back(
        {is_last ? UINT64_MAX : Buckets::Lowest(i + 1), recorded.buckets[i]});
  }
  return latency;
}

}  // namespace

Latencies::Latencies(Runtime& runtime, uint32_t sampling, Nanos slow_call, LogSink sink)
    : runtime_(runtime), sampling_(slow_call > 0 ? 1 : sampling) {
  if (slow_call > 0) slow_calls_.emplace(runtime, slow_call, std::move(sink));
  for (size_t i = 0; i < countdowns_.size(); ++i) {
    countdowns_[i].random = static_cast<uint32_t>(i);
    if (sampling_ > 0) Restart(countdowns_[i]);
  }
}

std::string_view Latencies::OperationOf(Timed kind) {
  return kNames[static_cast<size_t>(kind)].operation;
}

uint32_t Latencies::Draw(Countdown& own, uint32_t most) {
  const uint32_t next = own.random.load(std::memory_order_relaxed) * 1664525u + 1013904223u;
  own.random.store(next, std::memory_order_relaxed);
  return static_cast<uint32_t>((uint64_t{next} * most) >> 32);
}

bool Latencies::Restart(Countdown& own) {
  // 1 to 2 * sampling - 1: sampling on the average.
  own.left.store(1 + Draw(own, 2 * sampling_ - 1), std::memory_order_relaxed);
  return true;
}

std::vector<OperationLatency> Latencies::List() const {
  std::vector<OperationLatency> all;
  for (size_t kind = 0; kind < kTimedKinds; ++kind) {
    all.push_back(Named(kNames[kind], recorders_[kind].Read()));
  }
  return all;
}

uint64_t OperationLatency::Quantile(double share) const {
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count))));
  uint64_t seen = 0;
  for (const Bucket& bucket : buckets) {
    seen += bucket.count;
    if (seen >= rank) return std::min(bucket.most_ns, longest_ns);
  }
  return 0;
}

}  // namespace latchkey
