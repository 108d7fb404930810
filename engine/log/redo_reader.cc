#include "engine/log/redo_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

// BufferPool::Prefetch keeps one portion in flight. With this many actors it is enough for any
// device.
constexpr size_t kPortion = 32, kActors = 4;

}  // namespace

RedoReader::~RedoReader() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    begun_.NotifyAll(mutex_);
  }
  actors_.clear();
}

void RedoReader::Begin(std::vector<PageId> pages) {
  {
    MutexLock lock(mutex_);
    pages_ = std::move(pages);
    taken_ = 0;
    begun_.NotifyAll(mutex_);
  }
  // A vector that cannot grow would destroy the new actor, and so wait for its end for ever.
  actors_.reserve(kActors);
  while (actors_.size() < kActors) {
    actors_.push_back(runtime_.Spawn("redo reader", [this] { Work(); }));
  }
}

void RedoReader::Await() {
  MutexLock lock(mutex_);
  while (taken_ < pages_.size() || being_read_ > 0) read_.Wait(mutex_);
}

size_t RedoReader::Take(std::span<PageId> portion) {
  MutexLock lock(mutex_);
  while (taken_ == pages_.size() && !stop_) begun_.Wait(mutex_);
  if (stop_) return 0;
  const size_t count = std::min(portion.size(), pages_.size() - taken_);
  std::copy_n(&pages_[taken_], count, portion.begin());
  taken_ += count;
  ++being_read_;
  return count;
}

void RedoReader::Work() {
  std::array<PageId, kPortion> portion;
  while (const size_t count = Take(portion)) {
    // Redo itself reads the pages that were not read here.
    CatchOutOfMemory([&] {
      pool_.Prefetch(pool_.Here(), std::span(portion.data(), count));
      return absl::OkStatus();
    }).IgnoreError();
    MutexLock lock(mutex_);
    if (--being_read_ == 0 && taken_ == pages_.size()) read_.NotifyOne(mutex_);
  }
}

}  // namespace latchkey
