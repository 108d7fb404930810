#include "storage/runtime/mutex.h"

namespace latchkey {

bool Mutex::LockSlow(absl::FunctionRef<void()> before_try) {
  for (uint32_t attempt = 0; attempt < 6;
       ++attempt) {  // the spinning part of the runtime's back-off
    runtime_.BackOff(attempt);
    before_try();
    if (TryAcquire()) return false;
  }
  bool slept = false;
  before_try();
  while (state_.exchange(2, std::memory_order_acquire) != 0) {
    runtime_.WaitOnWord(state_, 2, kForever);
    slept = true;
    before_try();
  }
  return slept;
}

bool CondVar::Wait(Mutex& mutex, Nanos timeout) {
  const uint32_t seen = sequence_.load(std::memory_order_acquire);
  mutex.Unlock();
  const bool woken = mutex.runtime_.WaitOnWord(sequence_, seen, timeout);
  mutex.Lock();
  return woken;
}

}  // namespace latchkey
