#include "bufferpool/synchronization/region.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr uint64_t kNoPage = 0;
uint64_t PagePlusOne(PageId page) { return Raw(page) + 1; }

}  // namespace

class [[nodiscard]] LATCHKEY_SCOPED_CAPABILITY Region::Locked {
 public:
  explicit Locked(Region& region) LATCHKEY_ACQUIRE(region.lock_) : region_(region) {
    region.CountLock(region.lock_.Lock());
  }
  ~Locked() LATCHKEY_RELEASE() { region_.lock_.Unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Region& region_;
};

Region::Region(Runtime& runtime, LockKind lock_kind, uint32_t number, FrameRecords& frames,
               const BatchingRules& rules)
    : number_(number), all_(frames), rules_(rules), lock_(runtime, lock_kind) {
  free_lists_.reserve(rules.free_lists);
  for (size_t i = 0; i < rules.free_lists; ++i) {
    free_lists_.push_back(std::make_unique<FreeList>(runtime, frames.free_links.data()));
  }
}

// The lock is held, so only readers of the statistics run at the same time.
void Region::CountLock(bool slept) {
  const auto increment = [](std::atomic<uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  increment(lock_acquisitions_);
  if (slept) increment(contentions_);
}

void Region::AddTo(FixPolicyStats* stats) const {
  stats->lock_acquisitions += lock_acquisitions_.load(std::memory_order_relaxed);
  stats->contentions += contentions_.load(std::memory_order_relaxed);
}

// ---- Accesses

void Region::OnLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) {
  const bool ahead = kind == LoadKind::kAhead;
  Note({.page = page,
        .frame = frame,
        .kind = ahead ? Access::Kind::kAheadLoad : Access::Kind::kDemandLoad},
       actor);
}

void Region::Note(const Access& access, uint32_t actor) {
  if (rules_.queues != nullptr) {
    return ReportIfDue(rules_.queues->Push(number_, actor, access), actor);
  }
  const Locked locked(*this);
  Report(access);
}

void Region::ReportIfDue(size_t accesses, uint32_t actor) {
  if (accesses < rules_.threshold) return;
  if (accesses == rules_.threshold && rules_.prefetch) PrefetchQueued(actor);
  if (accesses < rules_.queues->capacity()) {
    if (!lock_.TryLock()) return;
    CountLock(false);
  } else {
    CountLock(lock_.Lock());
  }
  ReportQueue(actor);
  lock_.Unlock();
}

// Without the lock: only a resize moves what is read here, and it stops prefetches first.
void Region::PrefetchQueued(uint32_t actor) {
  const auto prefetch = [this](const Access& entry) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    const bool is_here = all_.Of(entry.frame).region.load(std::memory_order_relaxed) == number_;
    if (is_here && entry.kind == Access::Kind::kHit) {
      algorithm_->PrefetchForHit(entry.frame, entry.page);
    }
  };
  rules_.queues->PrefetchEntries(number_, actor, prefetch);
}

void Region::Report(const Access& access) {
  using Kind = Access::Kind;
  if (access.kind == Kind::kDemandLoad || access.kind == Kind::kAheadLoad) {
    Record(access.frame, access.page);
    algorithm_->OnLoad(access.frame, access.page,
                       access.kind == Kind::kAheadLoad ? LoadKind::kAhead : LoadKind::kDemand);
    return;
  }
  // A resize may have moved the frame to another region since. The fix is then lost.
  const FrameRecord& record = all_.Of(access.frame);
  const bool is_here = record.region.load(std::memory_order_relaxed) == number_;
  if (!is_here || record.page_plus_one != PagePlusOne(access.page)) return;
  access.kind == Kind::kHit ? algorithm_->OnHit(access.frame)
                            : algorithm_->OnFirstUse(access.frame);
}

void Region::Record(FrameId frame, PageId page) {
  FrameRecord& record = all_.Of(frame);
  LATCHKEY_CHECK(record.page_plus_one == kNoPage);
  record.page_plus_one = PagePlusOne(page);
}

void Region::Reinstate(FrameId frame, PageId page) {
  const Locked locked(*this);
  Record(frame, page);
  algorithm_->Reinstate(frame);
}

void Region::OnRemove(FrameId frame, PageId page) {
  const Locked locked(*this);
  FrameRecord& record = all_.Of(frame);
  if (record.page_plus_one == kNoPage) DrainQueues();
  LATCHKEY_CHECK(record.page_plus_one == PagePlusOne(page));
  record.page_plus_one = kNoPage;
  algorithm_->OnRemove(frame);
}

// Clang does not follow a lock into a lambda; the functions below require it of their callers.

void Region::ReportQueue(uint32_t actor) {
  rules_.queues->Drain(number_, actor,
                       [this](const Access& entry)
                           LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { Report(entry); });
}

void Region::DrainQueues() {
  if (rules_.queues == nullptr) return;
  rules_.queues->DrainAll(
      number_, [this](const Access& entry) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS { Report(entry); });
}

// ---- Victims and free frames

size_t Region::Evict(PageId incoming, std::span<FrameId> victims,
                     absl::FunctionRef<bool(FrameId)> claim, uint32_t actor) {
  if (rules_.queues != nullptr && rules_.prefetch) PrefetchQueued(actor);
  const Locked locked(*this);
  if (rules_.queues == nullptr) return ChooseVictims(incoming, victims, claim);
  ReportQueue(actor);
  const size_t count = ChooseVictims(incoming, victims, claim);
  if (count > 0) return count;
  DrainQueues();
  return ChooseVictims(incoming, victims, claim);
}

size_t Region::ChooseVictims(PageId incoming, std::span<FrameId> victims,
                             absl::FunctionRef<bool(FrameId)> claim) {
  const size_t most = std::min(victims.size(), FixPolicy::LargestBatch(frames_));
  const uint32_t free_list = FreeListOf(incoming);
  size_t count = 0;
  while (count < most) {
    const FrameId victim = algorithm_->Victim(count == 0 ? incoming : kInvalidPageId, claim);
    if (victim == kNoFrame) break;
    FrameRecord& record = all_.Of(victim);
    record.page_plus_one = kNoPage;
    record.free_list.store(free_list, std::memory_order_relaxed);
    victims[count++] = victim;
  }
  return count;
}

size_t Region::PeekColdest(std::span<FrameId> out) {
  const Locked locked(*this);
  return algorithm_->PeekColdest(out);
}

uint32_t Region::FreeListOf(PageId page) const {
  if (free_lists_.size() == 1) return 0;
  return static_cast<uint32_t>(MixHash(Raw(page)) & UINT32_MAX) %
         static_cast<uint32_t>(free_lists_.size());
}

FrameId Region::PopAnyFree() {
  for (auto& list : free_lists_) {
    if (const FrameId frame = list->stack.Pop(); frame != kNoFrame) return frame;
  }
  return kNoFrame;
}

void Region::PushFree(FrameId frame) {
  const uint32_t list = all_.Of(frame).free_list.load(std::memory_order_relaxed);
  free_lists_[list % free_lists_.size()]->stack.Push(frame);
  SetExhausted(false);
}

size_t Region::free_frames() const {
  size_t count = 0;
  for (const auto& list : free_lists_) count += list->stack.size();
  return count;
}

void Region::SetFrames(size_t frames, std::unique_ptr<ReplacementAlgorithm> algorithm) {
  frames_ = frames;
  algorithm_ = std::move(algorithm);
}

}  // namespace latchkey
