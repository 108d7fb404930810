#include "tpcc-lite/kv/periodic_sync.h"

#include <utility>

namespace latchkey {

void PeriodicSync::Start(const char* actor, Sync sync) {
  constexpr Nanos kDelay = 10 * kNanosPerMilli;
  actor_ = ThreadRuntime().Spawn(actor, [this, sync = std::move(sync)] {
    while (!stop_.load(std::memory_order_acquire) && status_.ok()) {
      ThreadRuntime().SleepFor(kDelay);
      status_ = sync();
    }
  });
}

absl::Status PeriodicSync::Stop() {
  if (actor_ == nullptr) return absl::OkStatus();
  stop_.store(true, std::memory_order_release);
  actor_->Join();
  actor_.reset();
  return status_;
}

}  // namespace latchkey
