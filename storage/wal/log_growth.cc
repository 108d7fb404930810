// Growing before room is short. New space is written ahead and synced, which takes long; without
// this, a thread that needs room waits for all of it.
#include <algorithm>

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/wal/log_impl.h"

namespace latchkey {
namespace {

// As shares of the log's size: the free part below which it grows, and the part that is added. The
// free part must last until the new part is written. Meanwhile the log uses the same device.
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

// Called after every group.
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
      return;  // a full device: Reserve reports the error to its callers
    }
  }
}

absl::Status LogImpl::GrowAheadOnce() {
  const LogGeometry& g = medium_->geometry;
  MutexLock lock(grow_mutex_);
  if (!IsShort()) return absl::OkStatus();  // another thread has grown the log
  const uint64_t slots = slots_.load();
  const uint64_t most = std::min(options_.max_bytes, watch_.usual_bytes());
  const uint64_t fit = (most - kLogSegmentsBegin) / g.segment_bytes;
  if (slots >= fit) return NoSpace(0, absl::OkStatus());
  return AddSlots(std::min(fit - slots, slots / kShareAdded + 1));
}

}  // namespace latchkey
