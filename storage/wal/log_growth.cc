// Growing before room is short: what is added is written ahead and synced, which takes long, and
// whoever needs room in the meantime waits for all of it.
#include <algorithm>

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/wal/log_impl.h"

namespace latchkey {
namespace {

// Of the log's size: what is free when it grows, and by how much it does. What is free has to last
// until the new part is written, which the log itself is on its way through the same device.
constexpr uint64_t kShareFree = 4, kShareAdded = 8;

}  // namespace

void LogImpl::StartGrowingAhead() {
  LATCHKEY_CHECK(grower_ == nullptr && watch_.kept());
  grows_ahead_.store(true, std::memory_order_seq_cst);
  grower_ = runtime_.Spawn("log grower", [this] { GrowAhead(); });
}

void LogImpl::StopGrowingAhead() {
  if (grower_ == nullptr) return;
  grows_ahead_.store(false, std::memory_order_seq_cst);
  grower_word_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(grower_word_, 1);
  grower_->Join();
  grower_.reset();
}

bool LogImpl::IsShort() const {
  const LogGeometry& g = medium_->geometry;
  const uint64_t slots = slots_.load(std::memory_order_relaxed);
  return !poisoned() && g.SlotOffset(slots) < watch_.usual_bytes() &&
         available_.load(std::memory_order_relaxed) <
             static_cast<int64_t>(slots * g.payload() / kShareFree);
}

// After every group: what it took was reserved before.
void LogImpl::NoteShortage() {
  if (!grows_ahead_.load(std::memory_order_relaxed) || !IsShort()) return;
  grower_word_.fetch_add(1, std::memory_order_seq_cst);
  runtime_.Wake(grower_word_, 1);
}

void LogImpl::GrowAhead() {
  while (grows_ahead_.load(std::memory_order_seq_cst)) {
    const uint32_t seen = grower_word_.load(std::memory_order_seq_cst);
    if (!IsShort()) {
      runtime_.WaitOnWord(grower_word_, seen, kForever);
    } else if (!CatchOutOfMemory([this] { return GrowAheadOnce(); }).ok()) {
      return;  // a full device: whoever needs room hears of it from Reserve
    }
  }
}

absl::Status LogImpl::GrowAheadOnce() {
  const LogGeometry& g = medium_->geometry;
  MutexLock lock(grow_mutex_);
  if (!IsShort()) return absl::OkStatus();  // somebody else has grown it
  const uint64_t slots = slots_.load();
  const uint64_t most = std::min(options_.max_bytes, watch_.usual_bytes());
  const uint64_t fit = (most - kLogSegmentsBegin) / g.segment_bytes;
  if (slots >= fit) return NoSpace(0, absl::OkStatus());
  return AddSlots(std::min(fit - slots, slots / kShareAdded + 1));
}

}  // namespace latchkey
