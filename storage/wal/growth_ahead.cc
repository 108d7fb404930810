#include "storage/wal/growth_ahead.h"

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {

void GrowthAhead::Start() {
  LATCHKEY_CHECK(actor_ == nullptr && watch_.kept());
  is_wanted_.store(true, std::memory_order_seq_cst);
  actor_ = runtime_.Spawn("log grower", [this] { Run(); });
}

void GrowthAhead::Stop() {
  if (actor_ == nullptr) return;
  is_wanted_.store(false, std::memory_order_seq_cst);
  word_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(word_, 1);
  actor_->Join();
  actor_.reset();
}

void GrowthAhead::NoteShortage() {
  if (!is_wanted_.load(std::memory_order_relaxed) || !IsShort()) return;
  word_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(word_, 1);
}

void GrowthAhead::Run() {
  for (;;) {
    // Stop clears is_wanted_, then changes word_. If is_wanted_ were looked at first, a Stop in between
    // would be missed.
    const uint32_t seen = word_.load(std::memory_order_seq_cst);
    runtime_.SchedulePoint();
    if (!is_wanted_.load(std::memory_order_seq_cst)) return;
    if (!IsShort()) {
      runtime_.WaitOnWord(word_, seen, kForever);
    } else if (GrowOnce() == LogGrower::Ahead::kCannot) {
      stuck_bytes_.store(grower_.device_bytes(), std::memory_order_relaxed);
    }
  }
}

LogGrower::Ahead GrowthAhead::GrowOnce() {
  LogGrower::Ahead grown = LogGrower::Ahead::kCannot;  // also when memory runs out
  CatchOutOfMemory([&] {
    grown = grower_.GrowAhead(watch_.usual_bytes());
    return absl::OkStatus();
  }).IgnoreError();
  return grown;
}

}  // namespace latchkey
