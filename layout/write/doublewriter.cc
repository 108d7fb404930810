#include "layout/write/doublewriter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout/map/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

// Any part of the store may make it read-only; so often a waiting thread looks whether one has.
constexpr Nanos kLookInterval = 20 * kNanosPerMilli;

}  // namespace

Doublewriter::Doublewriter(PageDirectory& directory, uint32_t batch_pages)
    : directory_(directory),
      core_(directory.core()),
      batch_pages_(batch_pages),
      mutex_(directory.core().runtime) {}

Doublewriter::~Doublewriter() {
  if (actor_ == nullptr) return;
  stop_.store(true, std::memory_order_release);
  SignalActor();
  actor_->Join();
}

bool Doublewriter::Prepare() {
  if (actor_ != nullptr) return true;
  auto queue = core_.device.NewQueue(batch_pages_ + 1);  // pages of a batch, and an area
  if (!queue.ok()) {
    core_.Poison(queue.status());
    return false;
  }
  queue_ = *std::move(queue);
  window_ = std::make_unique<IoWindow<FrameIndex>>(batch_pages_ + 1);
  for (Batch& batch : batches_) {
    if (batch.group == nullptr) batch.group = directory_.frames().NewGroup(area_pages());
    if (batch.group == nullptr) {
      core_.Poison(absl::ResourceExhaustedError("no frames for doublewrite batches"));
      return false;
    }
    batch.group->in_place_helper = this;
  }
  actor_ = core_.runtime.Spawn("lk-doublewrite", [this] { Run(); });
  return true;
}

// ---- Any thread

Doublewriter::Batch* Doublewriter::OpenBatch() {
  const bool has_room = filling_ - done_.load(std::memory_order_relaxed) < kBatches;
  return has_room ? &batches_[filling_ % kBatches] : nullptr;
}

uint64_t Doublewriter::Room() {
  const Batch* const open = OpenBatch();
  if (open == nullptr) return 0;
  const uint64_t unused = kBatches - (filling_ - done_.load(std::memory_order_relaxed));
  return unused * batch_pages_ - open->filled;
}

// The first waiting page in line has a number of at most served_, so it gets the next room.
bool Doublewriter::HasRoomFor(DoublewriteTurn& turn) {
  const uint64_t room = Room();
  if (turn.next == turn.end && !turn.passes_line) {
    turn.next = line_;
    turn.end = line_ += turn.pages;
  }
  return room > 0 && (turn.passes_line || turn.next < served_ + room);
}

// A page takes room: its place in line ends, and the sum of served_ and room stays.
void Doublewriter::EndPlace(DoublewriteTurn& turn) {
  if (std::exchange(turn.passes_line, false)) return;
  ++turn.next;
  ++served_;
}

bool Doublewriter::Put(Batch& batch, SlotId target, PageId page, const std::byte* data,
                       LocationWord current, std::atomic<size_t>* unwritten) {
  CopyFrame& frame = batch.group->frames[batch.filled];
  frame.target = target;
  directory_.TakeTicket(frame, unwritten);
  if (!directory_.Accept(batch.group->IndexOf(batch.filled), page, data, current)) {
    frame.EndTicket();
    return false;
  }
  frame.is_replaced = false;
  if (current.in_memory() && &directory_.frames().GroupOf(current.frame()) == batch.group) {
    directory_.frames().Frame(current.frame()).is_replaced = true;
  }
  if (++batch.filled == batch_pages_) {
    ++filling_;
    SignalActor();
  }
  return true;
}

bool Doublewriter::Write(PageId page, const std::byte* data, LocationWord current,
                         std::atomic<size_t>* unwritten, DoublewriteTurn& turn) {
  for (;;) {
    const uint32_t seen = progress_.load(std::memory_order_acquire);
    {
      MutexLock lock(mutex_);
      if (core_.poisoned() || !Prepare()) return false;
      if (HasRoomFor(turn)) {
        if (!Put(*OpenBatch(), current.slot(), page, data, current, unwritten)) return false;
        EndPlace(turn);
        return true;
      }
    }
    core_.runtime.WaitOnWord(progress_, seen, kLookInterval);
  }
}

bool Doublewriter::Overtake(PageId page, const std::byte* data, std::atomic<size_t>* unwritten) {
  const auto is_here = [&](LocationWord word) {
    return word.in_memory() && directory_.frames().GroupOf(word.frame()).in_place_helper == this;
  };
  if (!is_here(directory_.map().Load(page))) return false;
  MutexLock lock(mutex_);
  Batch* batch = OpenBatch();
  const LocationWord word = directory_.map().Load(page);
  if (batch == nullptr || core_.poisoned() || !is_here(word)) return false;
  // No frame that a word names is filled again before mutex_ is released.
  const SlotId target = directory_.frames().Frame(word.frame()).target;
  return Put(*batch, target, page, data, word, unwritten);
}

void Doublewriter::AwaitRoom(DoublewriteTurn& turn) {
  turn.passes_line = true;
  for (;;) {
    const uint32_t seen = progress_.load(std::memory_order_acquire);
    {
      MutexLock lock(mutex_);
      if (core_.poisoned() || Room() > 0) return;
    }
    core_.runtime.WaitOnWord(progress_, seen, kLookInterval);
  }
}

void Doublewriter::GiveBack(DoublewriteTurn& turn) {
  if (turn.next == turn.end) return;
  {
    MutexLock lock(mutex_);
    served_ += turn.end - std::exchange(turn.next, turn.end);
  }
  WakeWaiters();
}

uint64_t Doublewriter::WantAll() {
  const Batch* const batch = OpenBatch();
  if (batch == nullptr || batch->filled == 0) return filling_;
  if (wanted_ <= filling_) {
    wanted_ = filling_ + 1;
    SignalActor();
  }
  return wanted_;
}

void Doublewriter::WriteOut() {
  uint64_t end = 0;
  {
    MutexLock lock(mutex_);
    end = WantAll();
  }
  AwaitDone(end);
}

void Doublewriter::Help() {
  uint64_t done = 0;
  {
    MutexLock lock(mutex_);
    done = done_.load(std::memory_order_relaxed);
    if (filling_ == done && WantAll() == done) return;
  }
  AwaitDone(done + 1);
}

bool Doublewriter::AwaitBatch() {
  const uint32_t seen = progress_.load(std::memory_order_acquire);
  const Nanos patience = batch_time_.load(std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    const Batch* const open = OpenBatch();
    const bool is_empty = open != nullptr && open->filled == 0;
    if (core_.poisoned() || (is_empty && filling_ == done_.load(std::memory_order_relaxed))) {
      return false;
    }
  }
  if (patience > 0 && core_.runtime.WaitOnWord(progress_, seen, patience)) return true;
  Help();
  return true;
}

void Doublewriter::SignalActor() {
  work_.fetch_add(1, std::memory_order_seq_cst);
  core_.runtime.Wake(work_, 1);
}

void Doublewriter::WakeWaiters() {
  progress_.fetch_add(1, std::memory_order_release);
  core_.runtime.Wake(progress_, UINT32_MAX);
}

void Doublewriter::AwaitDone(uint64_t number) {
  for (;;) {
    const uint32_t seen = progress_.load(std::memory_order_acquire);
    if (done_.load(std::memory_order_acquire) >= number || core_.poisoned()) return;
    core_.runtime.WaitOnWord(progress_, seen, kLookInterval);
  }
}

// ---- The actor

void Doublewriter::Run() {
  Batch* batch = nullptr;  // in its area
  for (;;) {
    const uint32_t seen = work_.load(std::memory_order_seq_cst);
    bool is_idle = false;
    const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
      if (batch == nullptr) {
        Batch* const next = Take();
        is_idle = next == nullptr;
        if (is_idle) return absl::OkStatus();
        LATCHKEY_RETURN_IF_ERROR(WriteToArea(*next));
        batch = next;
      }
      // Makes the area durable, and the in-place writes of the previous batch.
      if (!LATCHKEY_CANARY("doublewrite-without-sync")) LATCHKEY_RETURN_IF_ERROR(Sync());
      Batch* following = nullptr;
      LATCHKEY_RETURN_IF_ERROR(WriteToSlots(*batch, following));
      End(*batch);
      batch = following;
      return absl::OkStatus();
    });
    if (!status.ok()) {
      core_.Poison(status);
      batch = nullptr;  // the batches serve their pages until the store is closed
      WakeWaiters();
    }
    if (!is_idle) continue;
    if (stop_.load(std::memory_order_acquire)) return;
    core_.runtime.WaitOnWord(work_, seen, kForever);
  }
}

// The next batch that goes out; nullptr: there is none now.
Doublewriter::Batch* Doublewriter::Take() {
  MutexLock lock(mutex_);
  if (core_.poisoned()) return nullptr;
  if (taken_ == filling_) {
    const Batch* const open = OpenBatch();
    if (wanted_ <= filling_ || open == nullptr || open->filled == 0) return nullptr;
    ++filling_;
  }
  Batch& batch = batches_[taken_++ % kBatches];
  batch.taken_at = core_.runtime.Now();
  return &batch;
}

std::span<std::byte> Doublewriter::FillArea(const Batch& batch) {
  NoteLogReach(batch);
  const size_t bytes = size_t{batch.filled + 1} * core_.geometry.page_size;
  core_.counters.protection_bytes.fetch_add(bytes, std::memory_order_relaxed);
  core_.counters.protected_page_writes.fetch_add(batch.filled, std::memory_order_relaxed);
  return {batch.group->memory.data(), bytes};
}

uint64_t Doublewriter::NextAreaOffset() {
  const uint64_t offset = DoublewriteOffset(next_area_);
  if (!LATCHKEY_CANARY("doublewrite-area-not-alternated")) next_area_ = 1 - next_area_;
  return offset;
}

absl::Status Doublewriter::WriteToArea(const Batch& batch) {
  const std::span<std::byte> bytes = FillArea(batch);
  const uint64_t offset = NextAreaOffset();
  if (LATCHKEY_CANARY("no-torn-page-protection")) return absl::OkStatus();
  return WriteRepeatedly([&] { return core_.device.Write(offset, bytes, IoClass::kProtection); });
}

// While the batch is closed, no thread reads or fills the frames behind its last page.
void Doublewriter::NoteLogReach(const Batch& batch) {
  const size_t page_size = core_.geometry.page_size;
  const std::span<std::byte> note(batch.group->memory.data() + batch.filled * page_size, page_size);
  const PageHeader header{.checksum = 0,
                          .page_id = 0,
                          .lsn = Raw(core_.LogReach()),
                          .write_sequence = 0,
                          .page_type = static_cast<uint8_t>(PageType::kLogReach),
                          .zero = {}};
  std::ranges::fill(note, std::byte{0});
  std::memcpy(note.data(), &header, sizeof(header));
  SealPage(note, kInvalidPageId, static_cast<uint32_t>(core_.generation.load()), core_.database_id);
}

absl::Status Doublewriter::Sync() {
  const Nanos start = core_.runtime.Now();
  absl::Status status = core_.device.Sync();
  StoreCounters& counters = core_.counters;
  counters.protection_syncs.fetch_add(1, std::memory_order_relaxed);
  counters.protection_sync_ns.fetch_add(static_cast<uint64_t>(core_.runtime.Now() - start),
                                        std::memory_order_relaxed);
  return status;
}

bool Doublewriter::NextSlotWrite(Batch& batch, uint32_t& next, TaggedRequest<FrameIndex>& request) {
  while (next < batch.filled) {
    const FrameIndex index = batch.group->IndexOf(next);
    CopyFrame& frame = batch.group->frames[next++];
    // A newer copy in a later batch does not count: the page's slot gets this one first.
    if (frame.is_replaced) {
      frame.EndTicket();
      continue;
    }
    request.tag = index;
    request.op = IoRequest::Op::kWrite;
    request.io_class = IoClass::kPageWrite;
    request.offset = core_.geometry.OffsetOf(frame.target);
    request.length = core_.geometry.page_size;
    request.buffer = directory_.frames().Memory(index);
    return true;
  }
  return false;
}

// Fills `request` with the write of the next batch to its area. That area is free: its last batch
// was in its slots before the sync that precedes the writes now in flight.
Doublewriter::Batch* Doublewriter::TakeIntoArea(TaggedRequest<FrameIndex>& request) {
  Batch* const batch = Take();
  if (batch == nullptr) return nullptr;
  const std::span<std::byte> bytes = FillArea(*batch);
  request.tag = kAreaWrite;
  request.op = IoRequest::Op::kWrite;
  request.io_class = IoClass::kProtection;
  request.offset = NextAreaOffset();
  request.length = static_cast<uint32_t>(bytes.size());
  request.buffer = bytes.data();
  return batch;
}

absl::Status Doublewriter::EndWrite(const IoRequest& request, FrameIndex index) {
  if (index == kAreaWrite) {
    return request.status.ok() ? absl::OkStatus() : WriteRepeatedly([&] {
      return core_.device.Write(request.offset, {request.buffer, request.length},
                                IoClass::kProtection);
    });
  }
  if (!request.status.ok()) return WriteFrameAgain(directory_, index, request.status);
  return directory_.InstallWritten(index) ? absl::OkStatus() : OutOfMemory();
}

// Writes the pages of `batch` to their slots. If the next batch is full, or becomes full meanwhile,
// writes that one to its area, and returns it in `following`.
absl::Status Doublewriter::WriteToSlots(Batch& batch, Batch*& following) {
  absl::Status status;
  uint32_t next = 0;
  window_->Run(
      *queue_,
      [&](TaggedRequest<FrameIndex>& request) {
        if (following == nullptr && status.ok() && !LATCHKEY_CANARY("no-torn-page-protection")) {
          following = TakeIntoArea(request);
          if (following != nullptr) return true;
        }
        return NextSlotWrite(batch, next, request);
      },
      // The area keeps the batch until all of it is in its slots.
      [&](const IoRequest& request, FrameIndex index) {
        const absl::Status written = EndWrite(request, index);
        if (status.ok()) status = written;
      });
  return status;
}

void Doublewriter::End(Batch& batch) {
  for (uint32_t i = 0; i < batch.filled; ++i) {
    directory_.frames().AwaitUnpinned(core_.runtime, batch.group->IndexOf(i));
  }
  batch_time_.store(core_.runtime.Now() - batch.taken_at, std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    batch.filled = 0;
    done_.fetch_add(1, std::memory_order_release);
  }
  WakeWaiters();
}

}  // namespace latchkey
