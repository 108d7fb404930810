#include "storage/device/io_accounting.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void IoAccounting::Settle() const {
  const Nanos now = runtime_.Now();
  // If nothing was in flight, the time since the last event is idle time and is not charged.
  if (total_in_flight_ > 0) ChargeUntil(now);
  last_event_ = now;
  if (sources_ != nullptr) AskSources();
}

void IoAccounting::ChargeUntil(Nanos now) const {
  const Nanos elapsed = now - last_event_;
  busy_ += elapsed;
  depth_integral_ += static_cast<double>(elapsed) * total_in_flight_;
  std::array<double, kIoClasses> weights;
  double total = 0;
  for (size_t c = 0; c < kIoClasses; ++c) {
    const RequestTime& time = IsRead(static_cast<IoClass>(c)) ? times_.read : times_.write;
    weights[c] = time.Of(in_flight_[c], static_cast<double>(length_in_flight_[c]));
    total += weights[c];
  }
  const double share = static_cast<double>(elapsed) / total;
  for (size_t c = 0; c < kIoClasses; ++c) class_busy_[c] += share * weights[c];
}

void IoAccounting::AskSources() const {
  IoBatch completed;
  bool idle = false;
  for (CompletionSource* source = sources_; source != nullptr; source = source->next_) {
    const uint32_t before = completed.total;
    source->TakeCompleted(completed);
    LATCHKEY_CHECK(source->in_flight_ >= completed.total - before);
    source->in_flight_ -= completed.total - before;
    idle = idle || source->in_flight_ == 0;
  }
  if (!completed.IsEmpty()) Land(completed);
  if (idle) DropIdleSources();
}

void IoAccounting::Land(const IoBatch& batch) const {
  for (size_t c = 0; c < kIoClasses; ++c) {
    LATCHKEY_CHECK(in_flight_[c] >= batch.requests[c]);
    LATCHKEY_CHECK(length_in_flight_[c] >= batch.lengths[c]);
    in_flight_[c] -= batch.requests[c];
    length_in_flight_[c] -= batch.lengths[c];
  }
  total_in_flight_ -= batch.total;
}

void IoAccounting::DropIdleSources() const {
  for (CompletionSource** link = &sources_; *link != nullptr;) {
    if ((*link)->in_flight_ == 0) {
      *link = (*link)->next_;
    } else {
      link = &(*link)->next_;
    }
  }
}

void IoAccounting::Count(const IoBatch& batch) {
  for (size_t c = 0; c < kIoClasses; ++c) {
    finished_[c] += batch.requests[c];
    bytes_[c] += batch.bytes[c];
  }
  errors_ += batch.errors;
}

void IoAccounting::Start(const IoBatch& batch, CompletionSource* source) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  for (size_t c = 0; c < kIoClasses; ++c) {
    in_flight_[c] += batch.requests[c];
    length_in_flight_[c] += batch.lengths[c];
    started_bytes_[c] += batch.lengths[c];
  }
  total_in_flight_ += batch.total;
  if (source == nullptr || batch.IsEmpty()) return;
  if (source->in_flight_ == 0) {
    source->next_ = sources_;
    sources_ = source;
  }
  source->in_flight_ += batch.total;
}

void IoAccounting::Finish(const IoBatch& batch, CompletionSource* source) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  Land(batch);
  Count(batch);
  if (source == nullptr) return;
  LATCHKEY_CHECK(source->in_flight_ >= batch.total);
  source->in_flight_ -= batch.total;
  if (source->in_flight_ == 0) DropIdleSources();
}

void IoAccounting::FinishTaken(const IoBatch& batch) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  Count(batch);
}

void IoAccounting::CountRefused() {
  SpinLatchGuard guard(latch_, runtime_);
  ++errors_;
}

void IoAccounting::CountSync(Nanos latency, bool ok) {
  SpinLatchGuard guard(latch_, runtime_);
  ++syncs_;
  sync_time_ += latency;
  if (!ok) ++errors_;
}

void IoAccounting::SetRequestTimes(const RequestTimes& times) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  times_ = times;
}

DeviceStats IoAccounting::Snapshot() const {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  DeviceStats stats;
  for (size_t c = 0; c < kIoClasses; ++c) {
    stats.by_class[c] = {.requests = finished_[c],
                         .bytes = bytes_[c],
                         .busy = static_cast<Nanos>(std::llround(class_busy_[c])),
                         .serviced_bytes = started_bytes_[c]};
  }
  stats.syncs = syncs_;
  stats.sync_time = sync_time_;
  stats.busy = busy_;
  stats.mean_depth = busy_ == 0 ? 0 : depth_integral_ / static_cast<double>(busy_);
  stats.errors = errors_;
  stats.in_flight = total_in_flight_;
  return stats;
}

}  // namespace latchkey
