#include "storage/wal/space_watch.h"

namespace latchkey {

void SpaceWatch::Begin(uint64_t usual_bytes) {
  usual_bytes_.store(usual_bytes, std::memory_order_relaxed);
  interrupted_.store(false, std::memory_order_relaxed);
  kept_.store(true, std::memory_order_release);
}

void SpaceWatch::End() {
  kept_.store(false, std::memory_order_release);
  NoteRoom();
}

void SpaceWatch::Await(Lsn upto) {
  wake_at_.store(Raw(upto), std::memory_order_seq_cst);
  for (;;) {
    const uint32_t seen = keeper_word_.load(std::memory_order_seq_cst);
    if (interrupted_.load(std::memory_order_seq_cst) || asked() ||
        position_.load(std::memory_order_seq_cst) >= Raw(upto)) {
      break;
    }
    runtime_.WaitOnWord(keeper_word_, seen, kForever);
  }
  wake_at_.store(kNever, std::memory_order_seq_cst);
}

void SpaceWatch::Interrupt() {
  interrupted_.store(true, std::memory_order_seq_cst);
  WakeKeeper();
}

void SpaceWatch::EndRound() {
  finished_.store(started_.load(std::memory_order_relaxed), std::memory_order_seq_cst);
  NoteRoom();
}

uint64_t SpaceWatch::Ask() {
  const uint64_t ticket = started_.load(std::memory_order_seq_cst) + 1;
  uint64_t wanted = wanted_.load(std::memory_order_relaxed);
  while (wanted < ticket && !wanted_.compare_exchange_weak(wanted, ticket)) {
  }
  if (wanted < ticket) WakeKeeper();
  return ticket;
}

void SpaceWatch::NoteRoom() {
  news_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(news_, UINT32_MAX);
}

void SpaceWatch::WakeKeeper() {
  keeper_word_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(keeper_word_, 1);
}

}  // namespace latchkey
