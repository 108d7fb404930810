#include "layout/write/segment_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "layout/map/write_again.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {

uint32_t PartSlots(const PageCosts& costs, const StoreGeometry& geometry) {
  // n pages in one request cost as much as n + eta - 1 in a whole segment.
  constexpr double kMostExtra = 1.0 / 5;
  const uint32_t all = geometry.pages_per_segment();
  const double least = (costs.eta() - 1) / kMostExtra;
  if (least >= all) return geometry.slots_per_segment;
  const uint32_t pages = least > 1 ? std::bit_ceil(static_cast<uint32_t>(std::ceil(least))) : 1;
  return all % pages == 0 ? pages * geometry.slots_per_page : geometry.slots_per_segment;
}

SegmentWriter::SegmentWriter(PageDirectory& directory, SpaceManager& space, uint32_t most_buffers,
                             uint32_t part_slots)
    : directory_(directory),
      core_(directory.core()),
      space_(space),
      most_buffers_(most_buffers),
      part_slots_(part_slots),
      buffers_mutex_(directory.core().runtime) {
  LATCHKEY_CHECK(most_buffers >= 1 && most_buffers <= kMostBuffers);
  LATCHKEY_CHECK(part_slots >= 1 && part_slots % core_.geometry.slots_per_page == 0);
  for (size_t i = 0; i < kLogs; ++i) {
    const uint32_t gathering = kAppendLogs[i].of_cleaner ? 0 : part_slots;
    logs_[i] = std::make_unique<OpenLog>(directory.core().runtime, gathering);
  }
}

SegmentWriter::~SegmentWriter() {
  for (size_t b = 0; b < buffer_count_.load(); ++b) {
    Buffer& buffer = *buffers_[b];
    MutexLock lock(buffer.io_mutex);
    while (buffer.queue->in_flight() > 0) WaitAndComplete(buffer, 1);
  }
}

bool SegmentWriter::Append(LogId log, std::optional<Claim> claim, const PageToAppend& page,
                           PagesOfWriter* pages) {
  const std::optional<Place> place = TakePlace(log, claim, page.page, page.slots, pages);
  if (!place) return false;
  const FrameIndex frame = place->buffer->group->IndexOf(place->index);
  if (page.image.empty()) {
    directory_.Accept(frame, page.page, page.data);
  } else {
    directory_.AcceptImage(frame, page.page, page.data, page.image, page.slots);
  }
  MarkReady(*place->buffer, page.slots);
  return true;
}

std::optional<FrameIndex> SegmentWriter::BeginMove(LogId log, std::optional<Claim> claim,
                                                   PageId page, LocationWord word) {
  const std::optional<Place> place = TakePlace(log, claim, page, word.slots(), nullptr);
  if (!place) return std::nullopt;
  CopyFrame& frame = place->buffer->group->frames[place->index];
  frame.page = page;
  frame.sequence = word.sequence();
  frame.moved = true;
  frame.durable_word.store(word.bits(), std::memory_order_relaxed);
  return place->buffer->group->IndexOf(place->index);
}

void SegmentWriter::FinishMove(FrameIndex index, bool valid) {
  CopyFrame& frame = directory_.frames().Frame(index);
  if (!valid) frame.page = kInvalidPageId;
  MarkReady(BufferOfFrame(index), frame.slots);
}

SegmentWriter::Buffer& SegmentWriter::BufferOfFrame(FrameIndex frame) {
  const FrameGroup* group = &directory_.frames().GroupOf(frame);
  for (size_t b = 0; b < buffer_count_.load(std::memory_order_acquire); ++b) {
    if (buffers_[b]->group == group) return *buffers_[b];
  }
  LATCHKEY_CHECK(false);
  return *buffers_[0];
}

std::optional<SegmentWriter::Place> SegmentWriter::TakePlace(LogId id, std::optional<Claim> claim,
                                                             PageId page, uint32_t slots,
                                                             PagesOfWriter* pages) {
  PlaceRequest request{.page = page, .slots = slots, .pages = pages};
  uint32_t turn = AskForPlace(id, request);
  while (turn == kWaits) {
    core_.runtime.WaitOnWord(request.turn, kWaits, kForever);
    turn = request.turn.load(std::memory_order_acquire);
  }
  if (turn == kOpens) OpenFor(id, claim, request);
  return request.place;
}

SegmentWriter::Turn SegmentWriter::AskForPlace(LogId id, PlaceRequest& request) {
  OpenLog& log = *logs_[static_cast<size_t>(id)];
  MutexLock lock(log.mutex);
  if (log.is_opening) {
    (log.first == nullptr ? log.first : log.last->next) = &request;
    log.last = &request;
    return kWaits;
  }
  if (log.buffer != nullptr && Serve(id, log, request)) return kIsServed;
  log.is_opening = true;
  return kOpens;
}

bool SegmentWriter::Serve(LogId id, OpenLog& log, PlaceRequest& request) {
  request.place = NextPlace(log, request);
  if (!request.place) {
    EndSegment(log);
    return false;
  }
  if (!InfoOf(id).of_cleaner) {
    directory_.TakeTicket(request.place->buffer->group->frames[request.place->index],
                          request.pages == nullptr ? nullptr : &request.pages->unwritten);
  }
  return true;
}

void SegmentWriter::OpenFor(LogId id, std::optional<Claim> claim, PlaceRequest& request) {
  const OnException pass_on([&] { EndOpening(id, nullptr, request); });
  Buffer* const buffer = claim ? OpenSegment(id, *claim) : nullptr;
  EndOpening(id, buffer, request);
}

void SegmentWriter::EndOpening(LogId id, Buffer* buffer, PlaceRequest& request) {
  OpenLog& log = *logs_[static_cast<size_t>(id)];
  PlaceRequest* served = nullptr;
  PlaceRequest* opener = nullptr;
  {
    MutexLock lock(log.mutex);
    log.buffer = buffer;
    if (buffer != nullptr) Serve(id, log, request);
    served = log.first;
    while (log.buffer != nullptr && log.first != nullptr && Serve(id, log, *log.first)) {
      log.first = log.first->next;
    }
    opener = log.first;
    if (opener != nullptr) log.first = opener->next;
    log.is_opening = opener != nullptr;
  }
  // A request is its owner's again, and may be gone, as soon as its turn is set.
  const auto end_wait = [this](PlaceRequest& waiter, Turn turn) {
    waiter.turn.store(turn, std::memory_order_release);
    core_.runtime.Wake(waiter.turn, 1);
  };
  if (opener != nullptr) end_wait(*opener, kOpens);
  while (served != opener) end_wait(*std::exchange(served, served->next), kIsServed);
}

SegmentWriter::Buffer* SegmentWriter::OpenSegment(LogId id, Claim claim) {
  const std::optional<SegmentId> segment = space_.TakeSegment(claim, InfoOf(id).kind);
  if (!segment) return nullptr;
  const OnException give_back([&] { directory_.segments().Close(*segment, 0); });
  Buffer* const buffer = AcquireBuffer();
  if (buffer == nullptr) {
    directory_.segments().Close(*segment, 0);  // empty, so it is free again
    return nullptr;
  }
  buffer->segment = *segment;
  const OnException let_go([&] { buffer->in_use.store(false, std::memory_order_release); });
  directory_.NoteSegment(*segment, InfoOf(id).kind);
  buffer->log.store(id, std::memory_order_release);
  return buffer;
}

std::optional<SegmentWriter::Place> SegmentWriter::NextPlace(OpenLog& log,
                                                             const PlaceRequest& request) {
  Buffer* buffer = log.buffer;
  const uint32_t slots = request.slots;
  // Whole pages of the cold partition have a block each, because they will be written in place.
  const bool at_block = slots == core_.geometry.slots_per_page &&
                        directory_.segments().KindOf(buffer->segment) == SegmentKind::kCold;
  const std::optional<SlotPacker::Taken> taken = buffer->packer.Take(slots, at_block);
  if (!taken) return std::nullopt;
  GiveUp(log, taken->given_up);
  const uint32_t index = taken->first;
  const SlotId slot = core_.geometry.SlotAt(buffer->segment, index);
  CopyFrame& frame = buffer->group->frames[index];
  frame.target = slot;
  frame.slots = slots;
  directory_.segments().AssignSlot(slot, request.page, slots);
  FillTo(log, buffer->filled.load(std::memory_order_relaxed) + slots);
  if (log.buffer != nullptr && log.begun_part < buffer->packer.next() && request.pages != nullptr) {
    request.pages->gathering.fetch_add(1, std::memory_order_relaxed);
    log.gathering.push_back(request.pages);  // has room
  }
  return Place{buffer, index};
}

uint32_t SegmentWriter::FullPartsEnd(const Buffer& buffer) const {
  const uint32_t next = buffer.packer.next();
  return next - next % part_slots_;
}

// The first `filled` slots of the log's buffer are handed out or given up. REQUIRES: a buffer.
void SegmentWriter::FillTo(OpenLog& log, uint32_t filled) {
  log.buffer->filled.store(filled, std::memory_order_release);
  const bool is_full = filled == core_.geometry.slots_per_segment;
  const uint32_t begun_part = is_full ? 0 : FullPartsEnd(*log.buffer);
  if (begun_part != log.begun_part || is_full) EndGathering(log);
  log.begun_part = begun_part;
  if (is_full) log.buffer = nullptr;  // the thread that copies last starts its write
}

// The pages that gathered are written, or their part is full.
void SegmentWriter::EndGathering(OpenLog& log) {
  for (PagesOfWriter* pages : log.gathering) {
    pages->gathering.fetch_sub(1, std::memory_order_relaxed);
  }
  log.gathering.clear();
}

// Gives up slots of the log's buffer: no page takes them. REQUIRES: a buffer.
void SegmentWriter::GiveUp(OpenLog& log, uint32_t slots) {
  if (slots == 0) return;
  Buffer* buffer = log.buffer;
  FillTo(log, buffer->filled.load(std::memory_order_relaxed) + slots);
  MarkReady(*buffer, slots);
}

// Gives up all further slots, which are holes once the segment is written. REQUIRES: a buffer.
void SegmentWriter::EndSegment(OpenLog& log) {
  GiveUp(log,
         core_.geometry.slots_per_segment - log.buffer->filled.load(std::memory_order_relaxed));
}

SegmentWriter::Buffer* SegmentWriter::FindFreeBuffer() {
  for (size_t b = 0; b < buffer_count_.load(std::memory_order_acquire); ++b) {
    bool in_use = false;
    if (buffers_[b]->in_use.compare_exchange_strong(in_use, true, std::memory_order_acq_rel)) {
      return buffers_[b].get();
    }
  }
  return nullptr;
}

SegmentWriter::Buffer* SegmentWriter::AcquireBuffer() {
  Backoff backoff(core_.runtime);
  for (;;) {
    if (Buffer* buffer = FindFreeBuffer()) return buffer;
    if (core_.poisoned()) return nullptr;
    // Completing an earlier write is cheaper than memory for yet another buffer.
    if (buffer_count_.load(std::memory_order_acquire) >= 2) {
      Reap();
      if (Buffer* buffer = FindFreeBuffer()) return buffer;
    }
    if (Buffer* buffer = NewBuffer()) return buffer;
    if (!ReapOne(/*wait=*/true)) backoff.Pause();
  }
}

SegmentWriter::Buffer* SegmentWriter::NewBuffer() {
  MutexLock lock(buffers_mutex_);
  const size_t count = buffer_count_.load(std::memory_order_relaxed);
  if (count == most_buffers_) return nullptr;
  auto queue = core_.device.NewQueue(kMaxRequests);
  if (!queue.ok()) {
    if (count == 0) core_.Poison(queue.status());
    return nullptr;
  }
  auto buffer = std::make_unique<Buffer>(core_.runtime, core_.geometry);
  buffer->queue = *std::move(queue);
  buffer->idle_requests.reserve(kMaxRequests);
  buffer->early_requests.reserve(kMaxRequests);
  buffer->done.reserve(kMaxRequests);
  buffer->group = directory_.frames().NewSegmentGroup();
  if (buffer->group == nullptr) return nullptr;
  for (TaggedRequest<uint32_t>& request : buffer->requests)
    buffer->idle_requests.push_back(&request);
  buffer->in_use.store(true, std::memory_order_relaxed);
  buffers_[count] = std::move(buffer);
  buffer_count_.store(count + 1, std::memory_order_release);
  return buffers_[count].get();
}

void SegmentWriter::MarkReady(Buffer& buffer, uint32_t slots) {
  const uint32_t all = core_.geometry.slots_per_segment;
  if (buffer.ready.fetch_add(slots, std::memory_order_acq_rel) + slots != all) return;
  MutexLock lock(buffer.io_mutex);
  Issue(buffer, all);
}

void SegmentWriter::Issue(Buffer& buffer, uint32_t end) {
  if (buffer.issued >= end) return;
  while (buffer.idle_requests.empty()) WaitAndComplete(buffer, 1);
  TaggedRequest<uint32_t>* request = buffer.idle_requests.back();
  buffer.idle_requests.pop_back();
  const uint64_t slot_size = core_.geometry.slot_size();
  request->op = IoRequest::Op::kWrite;
  const bool is_whole = buffer.issued == 0 && end == core_.geometry.slots_per_segment;
  request->io_class = is_whole ? IoClass::kSegmentWrite : IoClass::kSegmentPartWrite;
  request->offset = core_.geometry.OffsetOf(core_.geometry.SlotAt(buffer.segment, buffer.issued));
  request->length = static_cast<uint32_t>((end - buffer.issued) * slot_size);
  request->buffer = buffer.group->memory.data() + buffer.issued * slot_size;
  request->stream = Raw(buffer.log.load(std::memory_order_relaxed));
  request->tag = buffer.issued;
  buffer.issued = end;
  IoRequest* const start = request;
  buffer.queue->Submit({&start, 1});
  WaitAndComplete(buffer, 0);
}

void SegmentWriter::WaitAndComplete(Buffer& buffer, size_t minimum) {
  buffer.done.clear();
  buffer.queue->Wait(minimum, buffer.done);
  for (IoRequest* request : buffer.done) {
    buffer.early_requests.push_back(static_cast<TaggedRequest<uint32_t>*>(request));
  }
  if (buffer.done.empty()) return;
  for (size_t i = 0; i < buffer.early_requests.size();) {
    TaggedRequest<uint32_t>* const part = buffer.early_requests[i];
    if (part->tag != buffer.completed) {
      ++i;  // a part before it is in flight
      continue;
    }
    CompletePart(buffer, *part);
    buffer.idle_requests.push_back(part);
    buffer.early_requests.erase(buffer.early_requests.begin() + static_cast<ptrdiff_t>(i));
    i = 0;
  }
  RecycleIfDone(buffer);
}

// Installs the pages that end in the part. One of them may begin in the part before. REQUIRES:
// all parts before are completed.
void SegmentWriter::CompletePart(Buffer& buffer, const TaggedRequest<uint32_t>& request) {
  const uint32_t first = request.tag, end = first + request.length / core_.geometry.slot_size();
  const absl::Status before = std::exchange(buffer.last_part, request.status);
  buffer.completed = end;
  if (buffer.failed) return;
  for (uint32_t i = first - std::min(first, core_.geometry.slots_per_page - 1); i < end; ++i) {
    const CopyFrame& frame = buffer.group->frames[i];
    if (frame.target == kNoSlot || i + frame.slots <= first || i + frame.slots > end) continue;
    const absl::Status& status = request.status.ok() && i < first ? before : request.status;
    const FrameIndex index = buffer.group->IndexOf(i);
    const bool done = status.ok() ? directory_.InstallWritten(index)
                                  : WriteFrameAgain(directory_, index, status).ok();
    if (!done) buffer.failed = true;
  }
}

void SegmentWriter::RecycleIfDone(Buffer& buffer) {
  if (buffer.completed != core_.geometry.slots_per_segment || buffer.failed) return;
  for (uint32_t i = 0; i < core_.geometry.slots_per_segment; ++i) {
    directory_.frames().AwaitUnpinned(core_.runtime, buffer.group->IndexOf(i));
    buffer.group->frames[i].target = kNoSlot;
  }
  const absl::Status noted = CatchOutOfMemory([&] {
    directory_.NoteSegment(buffer.segment,
                           directory_.segments().KindOf(buffer.segment));  // its birth is now
    return absl::OkStatus();
  });
  if (!noted.ok()) return core_.Poison(noted);
  directory_.segments().Close(buffer.segment, directory_.clock());
  buffer.packer.Reset();
  buffer.filled.store(0, std::memory_order_relaxed);
  buffer.ready.store(0, std::memory_order_relaxed);
  buffer.issued = 0;
  buffer.completed = 0;
  buffer.last_part = absl::OkStatus();
  buffer.in_use.store(false, std::memory_order_release);
}

void SegmentWriter::StartLocked(OpenLog& log, BegunPart begun) {
  Buffer* buffer = log.buffer;
  if (buffer == nullptr) return;
  if (begun == BegunPart::kWritten) {
    GiveUp(log, buffer->packer.EndBlock());
    EndGathering(log);
  }
  if (log.buffer == nullptr) return;  // full
  if (begun == BegunPart::kKept && FullPartsEnd(*buffer) == 0) return;
  const uint32_t filled = buffer->filled.load(std::memory_order_relaxed);
  Backoff backoff(core_.runtime);  // waits only for copies by threads that have their slots
  while (buffer->ready.load(std::memory_order_acquire) < filled) backoff.Pause();
  MutexLock io_lock(buffer->io_mutex);
  Issue(*buffer, begun == BegunPart::kWritten ? filled : FullPartsEnd(*buffer));
}

void SegmentWriter::Drain(LogId log) {
  for (size_t b = 0; b < buffer_count_.load(std::memory_order_acquire); ++b) {
    Buffer& buffer = *buffers_[b];
    if (!buffer.in_use.load(std::memory_order_acquire)) continue;
    // The thread that copies last issues a full buffer: wait for that too.
    const uint32_t slots = core_.geometry.slots_per_segment;
    Backoff backoff(core_.runtime);
    for (;;) {
      {
        MutexLock lock(buffer.io_mutex);
        if (buffer.log.load(std::memory_order_acquire) != log ||
            !buffer.in_use.load(std::memory_order_acquire))
          break;
        while (buffer.queue->in_flight() > 0) WaitAndComplete(buffer, 1);
        const bool sealed = buffer.filled.load(std::memory_order_acquire) == slots;
        if (buffer.failed || !sealed || buffer.issued == slots) break;
      }
      backoff.Pause();  // without the mutex, which that thread needs
    }
  }
}

void SegmentWriter::WriteOut(std::span<const LogId> logs, BegunPart begun) {
  for (const LogId id : logs) {
    OpenLog& log = *logs_[static_cast<size_t>(id)];
    MutexLock lock(log.mutex);
    StartLocked(log, begun);
  }
  for (const LogId id : logs) Drain(id);
}

void SegmentWriter::StartUserLogs(BegunPart begun) {
  for (const LogId id : kUserLogs) {
    OpenLog& log = *logs_[static_cast<size_t>(id)];
    if (!log.mutex.TryLock()) continue;
    StartLocked(log, begun);  // throws nothing
    log.mutex.Unlock();
  }
  Reap();
}

void SegmentWriter::EndLogsFrom(SegmentId first) {
  for (auto& log : logs_) {
    if (!log->mutex.TryLock()) continue;
    if (log->buffer != nullptr && log->buffer->segment >= first) EndSegment(*log);
    log->mutex.Unlock();
  }
  Reap();
}

void SegmentWriter::Reap() { ReapOne(/*wait=*/false); }

bool SegmentWriter::ReapOne(bool wait) {
  bool any = false;
  for (size_t b = 0; b < buffer_count_.load(std::memory_order_acquire); ++b) {
    Buffer& buffer = *buffers_[b];
    if (!buffer.in_use.load(std::memory_order_acquire) || !buffer.io_mutex.TryLock()) continue;
    const size_t in_flight = buffer.queue->in_flight();
    if (in_flight > 0) WaitAndComplete(buffer, wait && !any ? 1 : 0);
    any = any || buffer.queue->in_flight() < in_flight;
    buffer.io_mutex.Unlock();
  }
  return any;
}

}  // namespace latchkey
