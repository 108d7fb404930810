#include "engine/txn/reclaim_actor.h"

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {

void ReclaimActor::Start() {
  LATCHKEY_CHECK(actor_ == nullptr);
  state_.store(Word(State::kIdle), std::memory_order_release);
  OnException stopped([&] { state_.store(Word(State::kStopped), std::memory_order_release); });
  actor_ = runtime_.Spawn("version reclaimer", [this] { Run(); });
}

void ReclaimActor::Stop() {
  if (actor_ == nullptr) return;
  state_.store(Word(State::kStopped), std::memory_order_release);
  runtime_.Wake(state_, 1);
  actor_->Join();
  actor_.reset();
}

void ReclaimActor::AskIdle() {
  uint32_t idle = Word(State::kIdle);
  if (state_.compare_exchange_strong(idle, Word(State::kWanted), std::memory_order_acq_rel)) {
    runtime_.Wake(state_, 1);
  }
}

void ReclaimActor::Run() {
  for (;;) {
    uint32_t wanted = Word(State::kWanted);
    if (state_.compare_exchange_strong(wanted, Word(State::kIdle), std::memory_order_acq_rel)) {
      CatchOutOfMemory([&] {
        round_();
        return absl::OkStatus();
      }).IgnoreError();  // what is left waits for the next round
      continue;
    }
    if (wanted == Word(State::kStopped)) return;
    runtime_.WaitOnWord(state_, Word(State::kIdle), kForever);
  }
}

}  // namespace latchkey
