// Accepting pages: where each one goes, and the PageWriter that callers hold.
#include <utility>

#include "layout/segment_store_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Number of tries before a round is forced; each sleeps at least 50 us.
constexpr uint32_t kTriesWithoutRound = 1000;

class StorePageWriter final : public PageWriter {
 public:
  StorePageWriter(SegmentStoreImpl& store, PageWriteQueue* queue) : store_(store), queue_(queue) {}
  ~StorePageWriter() override {
    queue_->WaitUntil(0);
    store_.ReturnQueue(queue_);
  }

  absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
    size_t count = 0;
    absl::Status status;
    for (const PageWrite& write : writes) {
      status = CatchOutOfMemory([&] { return store_.Accept(*queue_, write); });
      if (!status.ok()) break;
      ++count;
    }
    queue_->Start();
    if (accepted != nullptr) *accepted = count;
    return status;
  }

  absl::Status Wait(size_t max_outstanding) override {
    store_.WriteFullBatch();
    queue_->WaitUntil(max_outstanding);
    return queue_->TakeError();
  }

  size_t outstanding() const override { return queue_->outstanding(); }

  size_t unwritten() const override { return queue_->unwritten(); }
  absl::Status WaitWritten(size_t max_unwritten) override {
    store_.WriteFullBatch();
    store_.AwaitWritten(*queue_, max_unwritten);
    const absl::Status error = queue_->TakeError();
    if (!error.ok() || unwritten() <= max_unwritten) return error;
    return store_.WriteStatus();  // these pages stay unwritten
  }

 private:
  SegmentStoreImpl& store_;
  PageWriteQueue* const queue_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PageWriter>> SegmentStoreImpl::NewWriter(uint32_t depth) {
  if (depth < 1 || depth > 1024) {
    return InvalidArgument("writer depth {} is outside 1-1024", depth);
  }
  MutexLock lock(queues_mutex_);
  const uint32_t page_size = core_.geometry.page_size;
  const uint32_t most = buffers_.WriterDepth(depth, /*taken_bytes=*/0, page_size);
  depth = buffers_.WriterDepth(depth, queue_bytes_, page_size);
  for (auto it = idle_queues_.begin(); it != idle_queues_.end(); ++it) {
    if ((*it)->depth() < depth || (*it)->depth() > most) continue;
    PageWriteQueue* queue = *it;
    idle_queues_.erase(it);
    return std::make_unique<StorePageWriter>(*this, queue);
  }
  queues_.reserve(queues_.size() + 1);
  idle_queues_.reserve(queues_.size() + 1);  // for its return
  LATCHKEY_ASSIGN_OR_RETURN(auto queue, PageWriteQueue::Create(directory_, depth));
  queues_.push_back(std::move(queue));
  queue_bytes_ += uint64_t{depth} * page_size;
  return std::make_unique<StorePageWriter>(*this, queues_.back().get());
}

void SegmentStoreImpl::ReturnQueue(PageWriteQueue* queue) {
  queue->TakeError().IgnoreError();  // the store is read-only since this error
  MutexLock lock(queues_mutex_);
  // After a failed write its frames serve their pages until the store is closed: no reuse.
  if (!core_.poisoned()) idle_queues_.push_back(queue);
}

std::vector<PageWriteQueue*> SegmentStoreImpl::AllQueues() const {
  MutexLock lock(queues_mutex_);
  std::vector<PageWriteQueue*> queues;
  for (const auto& queue : queues_) queues.push_back(queue.get());
  return queues;
}

void SegmentStoreImpl::PollPageWrites() {
  for (PageWriteQueue* queue : AllQueues()) queue->Poll();
}

void SegmentStoreImpl::WriteFullBatch() {
  if (doublewriter_ != nullptr) doublewriter_->FlushFull();
}

// Pages that only gather, in a doublewrite batch or an append log, must not take the place of writes
// in flight. So their writes are started once they are half of the unwritten pages.
void SegmentStoreImpl::AwaitWritten(PageWriteQueue& queue, size_t most) {
  Backoff backoff(core_.runtime);
  const auto is_done = [&] { return queue.unwritten() <= most || core_.poisoned(); };
  while (!is_done()) {
    const size_t unwritten = queue.unwritten(), outstanding = queue.outstanding();
    if (unwritten >= 2 * outstanding) writer_.TryFlushUserLogs();
    if (!is_done() && outstanding > 0) {
      queue.Help();
      continue;
    }
    if (!is_done() && doublewriter_ != nullptr) doublewriter_->Help();
    if (is_done()) return;
    writer_.FlushUserLogs();
    backoff.Pause();
  }
}

absl::StatusOr<PageId> SegmentStoreImpl::AllocatePage() {
  LATCHKEY_RETURN_IF_ERROR(EnsureMarkedUnclean());
  return space_.AllocatePage();
}

absl::Status SegmentStoreImpl::AdoptPage(PageId id) {
  if (directory_.map().IsAllocated(id)) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(EnsureMarkedUnclean());
  return space_.AdoptPage(id);
}

void SegmentStoreImpl::FreePage(PageId id) {
  try {
    TryFreePage(id);
  } catch (const std::bad_alloc&) {
    core_.Poison(OutOfMemory());
  }
}

void SegmentStoreImpl::TryFreePage(PageId id) {
  if (!directory_.map().IsAllocated(id)) return;
  if (!EnsureMarkedUnclean().ok()) {
    if (core_.poisoned()) return;  // read-only: the file keeps the page, which is harmless
    MutexLock lock(checkpoint_mutex_);
    if (!marked_unclean_.load(std::memory_order_relaxed)) {
      unmarked_frees_.push_back(id);
      return;
    }
  }
  for (;;) {
    LocationWord word = AwaitInPlaceWrite(id);
    if (word.free() || core_.poisoned()) return;
    if (directory_.DropCopies(id, word)) break;
  }
  separator_->OnFree(id);
  space_.FreePage(id);
}

// Waits until no in-place write of `page` is in flight, and returns the page's word. The store
// accepts a page again only after that.
LocationWord SegmentStoreImpl::AwaitInPlaceWrite(PageId page) {
  Backoff backoff(core_.runtime);
  for (;;) {
    const LocationWord word = directory_.map().Load(page);
    if (!word.in_memory()) return word;
    WriteHelper* helper = directory_.frames().GroupOf(word.frame()).in_place_helper;
    if (helper == nullptr || core_.poisoned()) return word;
    helper->Help();
    if (directory_.map().Load(page) == word) backoff.Pause();
  }
}

absl::Status SegmentStoreImpl::Accept(PageWriteQueue& queue, const PageWrite& write) {
  LATCHKEY_RETURN_IF_ERROR(CheckReadable(write.id));
  LATCHKEY_RETURN_IF_ERROR(EnsureMarkedUnclean());
  const Placement placement = separator_->OnWrite(write.id);
  for (uint32_t tries = 1;; ++tries) {
    LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
    if (placement == Placement::kInPlace && Overtake(queue, write)) break;
    if (Place(queue, write, placement, AwaitInPlaceWrite(write.id))) break;
    if (tries % kTriesWithoutRound == 0 && journal_is_full()) {
      LATCHKEY_RETURN_IF_ERROR(CommitRoundOrMap());
    }
  }
  const uint64_t writes = core_.counters.user_page_writes.fetch_add(1, std::memory_order_relaxed);
  cleaner_.OnPageAccepted(writes + 1);
  return absl::OkStatus();
}

bool SegmentStoreImpl::Place(PageWriteQueue& queue, const PageWrite& write, Placement placement,
                             LocationWord word) {
  switch (placement) {
    case Placement::kInPlace:
      return PlaceCold(queue, write, word);
    case Placement::kHot:
      return Append(queue, LogId::kHot, Claim::kUser, write) || PlaceAnywhere(queue, write, word);
    case Placement::kHotSecond:
      return Append(queue, LogId::kHotSecond, Claim::kUser, write) ||
             PlaceAnywhere(queue, write, word);
  }
  return false;
}

// Places a cold page.
//   Its slot is in the cold partition: it is written in place.
//   Its slot is in the hot partition: it moves into a hole of the cold partition (thesis 6.2.2).
//   It has no slot: it goes into a fresh cold segment, filled in sequence, while there are free
//   segments to spare, then into a hole.
bool SegmentStoreImpl::PlaceCold(PageWriteQueue& queue, const PageWrite& write, LocationWord word) {
  if (!word.on_device()) {
    return Append(queue, LogId::kCold, Claim::kSpare, write) || PlaceAnywhere(queue, write, word);
  }
  const SegmentId segment = core_.geometry.SegmentOf(word.slot());
  const bool stays = directory_.segments().KindOf(segment) == SegmentKind::kCold &&
                     directory_.segments().StateOf(segment) != SegmentState::kCleaning;
  if (!stays && WriteToHole(queue, write, SegmentKind::kCold)) return true;
  return WriteInPlace(queue, write, word.slot(), word);
}

// The last resort. The store hands out an id only while there is a slot for it, so a retry succeeds
// once the segments with the holes have been written or cleaned, and once there is room for a round
// or a checkpoint in its place. If that room does not come, Accept returns an error after
// kTriesWithoutRound tries.
bool SegmentStoreImpl::PlaceAnywhere(PageWriteQueue& queue, const PageWrite& write,
                                     LocationWord word) {
  if (word.on_device()) return WriteInPlace(queue, write, word.slot(), word);
  if (WriteToHole(queue, write, SegmentKind::kCold)) return true;
  if (Append(queue, LogId::kCold, Claim::kUser, write)) return true;
  // While the journal is full, the last segments are kept for the checkpoint in place of a round.
  if (!journal_is_full() && Append(queue, LogId::kCold, Claim::kCleaner, write)) return true;
  queue.Start();
  PollPageWrites();
  writer_.TryFlushUserLogs();
  // Superseded slots may be the only room left: a round releases them.
  const bool has_round =
      directory_.journal() != nullptr && directory_.journal()->pending_slots() > 0;
  if (has_round && !IsJournalFull(TryCommitRoundOrMap())) return false;
  core_.runtime.SleepFor(50 * kNanosPerMicro);
  return false;
}

bool SegmentStoreImpl::Overtake(PageWriteQueue& queue, const PageWrite& write) {
  if (doublewriter_ == nullptr) return false;
  if (!doublewriter_->Overtake(write.id, write.data, queue.unwritten_counter())) return false;
  core_.counters.in_place_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool SegmentStoreImpl::WriteInPlace(PageWriteQueue& queue, const PageWrite& write, SlotId slot,
                                    std::optional<LocationWord> only_from) {
  const bool over_itself = only_from.has_value();
  const bool accepted =
      over_itself && writes_twice()
          ? doublewriter_->Write(write.id, write.data, *only_from, queue.unwritten_counter())
          : queue.Write(write.id, write.data, slot, only_from);
  if (!accepted) return false;
  core_.counters.in_place_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool SegmentStoreImpl::WriteToHole(PageWriteQueue& queue, const PageWrite& write,
                                   SegmentKind kind) {
  const std::optional<SlotId> hole = directory_.segments().TakeHole(kind, write.id);
  if (!hole) return false;
  if (WriteInPlace(queue, write, *hole, std::nullopt)) return true;
  directory_.ReleaseUnnamed(*hole);
  return false;
}

bool SegmentStoreImpl::Append(PageWriteQueue& queue, LogId log, Claim claim,
                              const PageWrite& write) {
  if (!writer_.Append(log, claim, write.id, write.data, queue.unwritten_counter())) return false;
  core_.counters.appended_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace latchkey
