#include "storage/device/io_accounting.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void IoAccounting::Settle() const {
  const Nanos now = runtime_.Now();
  // If nothing was in flight, the time since the last event is idle time and is not charged.
  if (total_in_flight_ > 0) {
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
  last_event_ = now;
  for (CompletionSource* source : sources_) {
    IoBatch completed;
    source->TakeCompleted(completed);
    Land(completed);
  }
}

void IoAccounting::Land(const IoBatch& batch) const {
  for (size_t c = 0; c < kIoClasses; ++c) {
    LATCHKEY_CHECK(in_flight_[c] >= batch.requests[c]);
    LATCHKEY_CHECK(length_in_flight_[c] >= batch.lengths[c]);
    in_flight_[c] -= batch.requests[c];
    length_in_flight_[c] -= batch.lengths[c];
    total_in_flight_ -= batch.requests[c];
  }
}

void IoAccounting::Count(const IoBatch& batch) {
  for (size_t c = 0; c < kIoClasses; ++c) {
    finished_[c] += batch.requests[c];
    bytes_[c] += batch.bytes[c];
  }
  errors_ += batch.errors;
}

void IoAccounting::Start(const IoBatch& batch) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  for (size_t c = 0; c < kIoClasses; ++c) {
    in_flight_[c] += batch.requests[c];
    length_in_flight_[c] += batch.lengths[c];
    started_bytes_[c] += batch.lengths[c];
    total_in_flight_ += batch.requests[c];
  }
}

void IoAccounting::Finish(const IoBatch& batch) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  Land(batch);
  Count(batch);
}

void IoAccounting::FinishTaken(const IoBatch& batch) {
  SpinLatchGuard guard(latch_, runtime_);
  Settle();
  Count(batch);
}

void IoAccounting::AddSource(CompletionSource& source) {
  SpinLatchGuard guard(latch_, runtime_);
  sources_.push_back(&source);
}

void IoAccounting::RemoveSource(CompletionSource& source) {
  SpinLatchGuard guard(latch_, runtime_);
  std::erase(sources_, &source);
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
