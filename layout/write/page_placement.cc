#include "layout/write/page_placement.h"

#include <algorithm>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Number of tries before a round is forced; each sleeps at least 50 us.
constexpr uint32_t kTriesWithoutRound = 1000;

constexpr LogId HotLog(uint32_t stream) { return LogOf(SegmentKind::kHot, false, stream); }
constexpr LogId kColdLog = LogOf(SegmentKind::kCold, false, 0);

class PlacedPageWriter final : public PageWriter {
 public:
  PlacedPageWriter(PagePlacement& placement, PageWriteQueue* queue)
      : placement_(placement), queue_(queue) {}
  ~PlacedPageWriter() override {
    queue_->WaitUntil(0);
    placement_.ReturnQueue(queue_);
  }

  absl::Status Submit(std::span<const PageWrite> writes, size_t* accepted) override {
    size_t count = 0;
    absl::Status status;
    for (const PageWrite& write : writes) {
      queue_->turn().pages = writes.size() - count;
      status = CatchOutOfMemory([&] { return placement_.Accept(*queue_, write); });
      if (!status.ok()) break;
      ++count;
    }
    placement_.EndTurn(*queue_);
    queue_->Start();
    if (accepted != nullptr) *accepted = count;
    return status;
  }

  void AwaitRoom() override { placement_.AwaitRoom(*queue_); }

  absl::Status Wait(size_t max_outstanding) override {
    queue_->WaitUntil(max_outstanding);
    return queue_->TakeError();
  }

  size_t outstanding() const override { return queue_->outstanding(); }

  size_t unwritten() const override { return queue_->unwritten(); }
  size_t gathering() const override { return queue_->gathering(); }
  size_t waiting() const override { return queue_->waiting(); }
  absl::Status WaitWritten(size_t max_unwritten) override {
    placement_.AwaitWritten(*queue_, max_unwritten);
    const absl::Status error = queue_->TakeError();
    if (!error.ok() || unwritten() <= max_unwritten) return error;
    return placement_.write_status();  // OK: the others gather
  }

 private:
  PagePlacement& placement_;
  PageWriteQueue* const queue_;
};

}  // namespace

PagePlacement::PagePlacement(const Parts& parts)
    : directory_(parts.directory),
      core_(parts.directory.core()),
      space_(parts.space),
      checkpointer_(parts.checkpointer),
      separator_(parts.separator),
      buffers_(parts.buffers),
      death_times_(parts.death_times),
      streams_(parts.directory, parts.death_times, parts.further_logs),
      writer_(parts.directory, parts.space, parts.buffers.segment_buffers, parts.part_slots),
      codec_(parts.codec),
      may_rely_on_images_(parts.may_rely_on_images),
      queues_mutex_(core_.runtime),
      waiting_frees_mutex_(core_.runtime) {
  if (parts.doublewrite_pages > 0) {
    doublewriter_ = std::make_unique<Doublewriter>(directory_, parts.doublewrite_pages);
  }
  space_.AttachWrites(this);
}

PagePlacement::~PagePlacement() {
  for (const auto& queue : queues_) queue->WaitUntil(0);  // takes no memory, unlike AllQueues
  if (doublewriter_ != nullptr) doublewriter_->WriteOut();
}

void PagePlacement::CompleteFinished() {
  writer_.Reap();
  PollQueues();
}

std::optional<FrameIndex> PagePlacement::BeginMove(SegmentKind kind, PageId page,
                                                   LocationWord word) {
  const auto log = [kind](uint32_t stream) { return LogOf(kind, /*of_cleaner=*/true, stream); };
  const uint32_t stream = kind == SegmentKind::kCold ? 0 : streams_.OfMove(page);
  auto frame = writer_.BeginMove(log(stream), Claim::kCleaner, page, word);
  if (frame || kind == SegmentKind::kCold || !streams_.divides()) return frame;
  for (uint32_t other = 0; other < kMovedStreams && !frame; ++other) {
    if (other != stream) frame = writer_.BeginMove(log(other), std::nullopt, page, word);
  }
  return frame;
}

void PagePlacement::StartUserWrites() {
  PollQueues();
  writer_.StartUserLogs();
}

absl::Status PagePlacement::WriteOut() {
  // If a write is overtaken while it is written out, the map does not name the copy it wrote. The
  // newer copy was accepted before that write was done, so writing out once more writes it.
  uint64_t overtaken = 0;
  do {
    overtaken = directory_.overtaken();
    writer_.WriteOutUserLogs();
    for (PageWriteQueue* queue : AllQueues()) queue->WaitUntil(0);
    if (doublewriter_ != nullptr) doublewriter_->WriteOut();
    LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  } while (directory_.overtaken() != overtaken);
  return absl::OkStatus();
}

absl::Status PagePlacement::BeginFirstChange() {
  LATCHKEY_RETURN_IF_ERROR(checkpointer_.EnsureUnclean());
  std::vector<PageId> frees;
  {
    MutexLock lock(waiting_frees_mutex_);
    frees.swap(waiting_frees_);
  }
  for (const PageId page : frees) FreePage(page);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PageWriter>> PagePlacement::NewWriter(uint32_t depth) {
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
    return std::make_unique<PlacedPageWriter>(*this, queue);
  }
  queues_.reserve(queues_.size() + 1);
  idle_queues_.reserve(queues_.size() + 1);  // for its return
  LATCHKEY_ASSIGN_OR_RETURN(auto queue, PageWriteQueue::Create(directory_, depth, codec_));
  queues_.push_back(std::move(queue));
  queue_bytes_ += uint64_t{depth} * page_size;
  return std::make_unique<PlacedPageWriter>(*this, queues_.back().get());
}

void PagePlacement::ReturnQueue(PageWriteQueue* queue) {
  queue->TakeError().IgnoreError();  // the store is read-only since this error
  MutexLock lock(queues_mutex_);
  // After a failed write its frames serve their pages until the store is closed: no reuse.
  if (!core_.poisoned()) idle_queues_.push_back(queue);
}

std::vector<PageWriteQueue*> PagePlacement::AllQueues() const {
  MutexLock lock(queues_mutex_);
  std::vector<PageWriteQueue*> queues;
  for (const auto& queue : queues_) queues.push_back(queue.get());
  return queues;
}

void PagePlacement::PollQueues() {
  for (PageWriteQueue* queue : AllQueues()) queue->Poll();
}

void PagePlacement::AwaitRoom(PageWriteQueue& queue) {
  if (doublewriter_ != nullptr && writes_twice()) doublewriter_->AwaitRoom(queue.turn());
}

void PagePlacement::EndTurn(PageWriteQueue& queue) {
  if (doublewriter_ != nullptr) doublewriter_->GiveBack(queue.turn());
}

// Pages that gather in a part of an append log are not waited for: the caller's copies of them are
// free. Full parts must not take the place of writes in flight. So their writes are started once they
// are half of the pages that are waited for. A doublewrite batch goes out by itself when it is full;
// the doublewriter says how long to wait for that.
void PagePlacement::AwaitWritten(PageWriteQueue& queue, size_t most) {
  Backoff backoff(core_.runtime);
  const auto is_done = [&] { return queue.waiting() <= most || core_.poisoned(); };
  while (!is_done()) {
    const size_t waiting = queue.waiting(), outstanding = queue.outstanding();
    if (waiting >= 2 * outstanding) writer_.StartUserParts();
    if (!is_done() && outstanding > 0) {
      queue.Help();
      continue;
    }
    if (is_done()) return;
    if (doublewriter_ != nullptr && doublewriter_->AwaitBatch()) continue;
    writer_.WriteOutUserParts();
    backoff.Pause();
  }
}

void PagePlacement::FreePage(PageId id) {
  try {
    TryFreePage(id);
  } catch (const std::bad_alloc&) {
    core_.Poison(OutOfMemory());
  }
}

void PagePlacement::TryFreePage(PageId id) {
  if (!directory_.map().IsAllocated(id)) return;
  if (!BeginChange().ok()) {
    if (core_.poisoned()) return;  // read-only: the file keeps the page, which is harmless
    MutexLock lock(waiting_frees_mutex_);
    if (!checkpointer_.is_unclean()) {
      waiting_frees_.push_back(id);
      return;
    }
  }
  for (;;) {
    LocationWord word = AwaitInPlaceWrite(id);
    if (word.free() || core_.poisoned()) return;
    if (directory_.DropCopies(id, word)) break;
  }
  separator_.OnFree(id);
  if (death_times_ != nullptr) death_times_->OnFree(id);
  space_.FreePage(id);
}

// Waits until no in-place write of `page` is in flight, and returns the page's word. The store
// accepts a page again only after that.
LocationWord PagePlacement::AwaitInPlaceWrite(PageId page) {
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

absl::Status PagePlacement::Accept(PageWriteQueue& queue, const PageWrite& write) {
  LATCHKEY_RETURN_IF_ERROR(directory_.CheckAllocated(write.id));
  LATCHKEY_RETURN_IF_ERROR(BeginChange());
  const Placement placement = separator_.OnWrite(write.id);
  if (death_times_ != nullptr) death_times_->OnWrite(write.id, directory_.map().allocated());
  queue.packer().Begin(write.data);
  for (uint32_t tries = 1;; ++tries) {
    LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
    // A page whose copy is in a doublewrite batch has its place, even if it is hot now.
    if (Overtake(queue, write)) break;
    if (Place(queue, write, placement, AwaitInPlaceWrite(write.id))) break;
    if (tries % kTriesWithoutRound == 0 && space_.IsOverfull()) {
      return MakeStatus(
          absl::StatusCode::kResourceExhausted,
          "page {} has no room: the device is full, and pages compress less than they "
          "did; make room on the device",
          Raw(write.id));
    }
    if (tries % kTriesWithoutRound == 0 && directory_.journal_is_full()) {
      LATCHKEY_RETURN_IF_ERROR(checkpointer_.MakeDurable());
    }
  }
  const uint64_t writes = core_.counters.user_page_writes.fetch_add(1, std::memory_order_relaxed);
  space_.OnPageAccepted(writes + 1);
  return absl::OkStatus();
}

bool PagePlacement::Place(PageWriteQueue& queue, const PageWrite& write, Placement placement,
                          LocationWord word) {
  switch (placement) {
    case Placement::kInPlace:
      return PlaceCold(queue, write, word);
    case Placement::kHot:
    case Placement::kHotSecond: {
      const uint32_t by_placement = placement == Placement::kHotSecond ? 1 : 0;
      const uint32_t stream = streams_.divides() ? streams_.OfWrite(write.id) : by_placement;
      return AppendHot(queue, stream, write) || PlaceAnywhere(queue, write, word);
    }
  }
  return false;
}

// Places a cold page.
//   Its slot is in the cold partition: it is written in place. But if it would be written twice there, and
//   the layout writes cold pages into holes, it goes into one, or into a spare cold segment.
//   Its slot is in the hot partition: it moves into a hole of the cold partition (thesis 6.2.2).
//   It has no slot, or shares its block: it goes into a fresh cold segment, filled in sequence, while
//   there are free segments to spare, then into a hole.
bool PagePlacement::PlaceCold(PageWriteQueue& queue, const PageWrite& write, LocationWord word) {
  if (!HasBlock(word)) {
    return Append(queue, kColdLog, Claim::kSpare, write) || PlaceAnywhere(queue, write, word);
  }
  const SegmentId segment = core_.geometry.SegmentOf(word.slot());
  const bool in_cold_partition = directory_.segments().KindOf(segment) == SegmentKind::kCold &&
                                 directory_.segments().StateOf(segment) != SegmentState::kCleaning;
  // A young file is small: it keeps its pages in place.
  const bool avoids_its_slot =
      writes_twice() && !space_.IsYoung() && separator_.cold_writes() == ColdWrites::kIntoHoles;
  if ((avoids_its_slot || !in_cold_partition) && WriteToHole(queue, write, SegmentKind::kCold)) {
    return true;
  }
  if (avoids_its_slot) {
    if (space_.HasSpareSegments() && Append(queue, kColdLog, Claim::kSpare, write)) return true;
    space_.AskForHoles();
  }
  return WriteInPlace(queue, write, word.slot(), word);
}

// The last resort. The store hands out an id only while there is a slot for it, so a retry succeeds
// once the segments with the holes have been written or cleaned, and once there is room for a round
// or a checkpoint in its place. If that room does not come, Accept returns an error after
// kTriesWithoutRound tries.
bool PagePlacement::PlaceAnywhere(PageWriteQueue& queue, const PageWrite& write,
                                  LocationWord word) {
  if (HasBlock(word)) return WriteInPlace(queue, write, word.slot(), word);
  if (WriteToHole(queue, write, SegmentKind::kCold)) return true;
  if (Append(queue, kColdLog, Claim::kUser, write)) return true;
  // While the journal is full, the last segments are kept for the checkpoint in place of a round. With
  // page compression they are kept for the cleaner: plugging could not replace its appends, because an
  // image in a hole takes a whole block. A young file has no cleaning, and grows up instead.
  const bool spare =
      !directory_.journal_is_full() && (!core_.geometry.compresses() || space_.IsYoung());
  if (spare && Append(queue, kColdLog, Claim::kCleaner, write)) return true;
  queue.Start();
  StartUserWrites();
  // Superseded slots may be the only room left: a round releases them.
  const bool has_round =
      directory_.journal() != nullptr && directory_.journal()->pending_slots() > 0;
  if (has_round && !IsJournalFull(checkpointer_.TryMakeDurable())) return false;
  core_.runtime.SleepFor(50 * kNanosPerMicro);
  return false;
}

bool PagePlacement::Overtake(PageWriteQueue& queue, const PageWrite& write) {
  if (doublewriter_ == nullptr) return false;
  if (!doublewriter_->Overtake(write.id, write.data, &queue.pages().unwritten)) return false;
  core_.counters.in_place_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool PagePlacement::WriteInPlace(PageWriteQueue& queue, const PageWrite& write, SlotId slot,
                                 std::optional<LocationWord> only_from) {
  const bool over_itself = only_from.has_value();
  const bool accepted = over_itself && writes_twice()
                            ? doublewriter_->Write(write.id, write.data, *only_from,
                                                   &queue.pages().unwritten, queue.turn())
                            : queue.Write(write.id, write.data, slot, only_from);
  if (!accepted) return false;
  core_.counters.in_place_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool PagePlacement::WriteToHole(PageWriteQueue& queue, const PageWrite& write, SegmentKind kind) {
  const std::optional<SlotId> hole =
      directory_.segments().TakeHole(kind, write.id, core_.geometry.slots_per_page);
  if (!hole) return false;
  if (!WriteInPlace(queue, write, *hole, std::nullopt)) {
    directory_.ReleaseUnnamed(*hole);
    return false;
  }
  core_.counters.hole_page_writes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool PagePlacement::AppendHot(PageWriteQueue& queue, uint32_t stream, const PageWrite& write) {
  if (Append(queue, HotLog(stream), Claim::kUser, write)) return true;
  if (!streams_.divides()) return false;
  // Another stream may have an open segment.
  for (uint32_t other = 0; other < kUserStreams; ++other) {
    if (other != stream && Append(queue, HotLog(other), std::nullopt, write)) return true;
  }
  return false;
}

// A young file has room for one log: two logs could each keep free slots that the other needs.
bool PagePlacement::Append(PageWriteQueue& queue, LogId log, std::optional<Claim> claim,
                           const PageWrite& write) {
  if (space_.IsYoung()) log = separator_.writes_in_place() ? kColdLog : HotLog(0);
  PageToAppend page{write.id, write.data, {}, core_.geometry.slots_per_page};
  if (InfoOf(log).kind == SegmentKind::kHot) {
    page.image = queue.packer().image();
    if (!page.image.empty()) page.slots = queue.packer().SlotsOf(page.image);
  }
  if (!writer_.Append(log, claim, page, &queue.pages())) return false;
  core_.counters.appended_page_writes.fetch_add(1, std::memory_order_relaxed);
  if (InfoOf(log).kind == SegmentKind::kHot) {
    core_.counters.hot_page_writes.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace latchkey
