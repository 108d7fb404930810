#include "engine/log/frees_under_way.h"

namespace latchkey {

void FreesUnderWay::Enter(LogSpace& space, Lsn lsn) {
  if (space.first_ != Lsn{0}) return;
  space.log_ = &owner_;
  SpinLatchGuard guard(latch_, runtime_);
  space.first_ = lsn;
  space.older_ = newest_;
  space.newer_ = nullptr;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = &space;
  newest_ = &space;
}

void FreesUnderWay::Leave(LogSpace& space) {
  if (space.first_ == Lsn{0}) return;
  SpinLatchGuard guard(latch_, runtime_);
  (space.older_ != nullptr ? space.older_->newer_ : oldest_) = space.newer_;
  (space.newer_ != nullptr ? space.newer_->older_ : newest_) = space.older_;
}

std::optional<Lsn> FreesUnderWay::Oldest() const {
  SpinLatchGuard guard(latch_, runtime_);
  if (oldest_ == nullptr) return std::nullopt;
  return oldest_->first_;
}

}  // namespace latchkey
