#include "layout/write/doublewriter.h"

#include <algorithm>
#include <cstring>

#include "layout/map/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {

Doublewriter::Doublewriter(PageDirectory& directory, uint32_t batch_pages)
    : directory_(directory),
      core_(directory.core()),
      batch_pages_(batch_pages),
      io_mutex_(directory.core().runtime),
      mutex_(directory.core().runtime) {}

bool Doublewriter::Prepare() {
  if (batches_[0].group != nullptr) return true;
  auto queue = core_.device.NewQueue(batch_pages_);
  if (!queue.ok()) {
    core_.Poison(queue.status());
    return false;
  }
  window_ = std::make_unique<IoWindow<FrameIndex>>(batch_pages_);
  FrameGroup* groups[] = {directory_.frames().NewGroup(area_pages()),
                          directory_.frames().NewGroup(area_pages())};
  if (groups[0] == nullptr || groups[1] == nullptr) {
    core_.Poison(absl::ResourceExhaustedError("no frames for doublewrite batches"));
    return false;
  }
  for (size_t b : {0, 1}) {
    groups[b]->in_place_helper = this;
    batches_[b].group = groups[b];
  }
  queue_ = *std::move(queue);
  return true;
}

Doublewriter::Batch* Doublewriter::OpenBatch() {
  Batch& batch = batches_[static_cast<size_t>(open_)];
  return batch.closed || batch.filled == batch_pages_ ? nullptr : &batch;
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
  if (++batch.filled == batch_pages_) has_full_batch_.store(true, std::memory_order_release);
  return true;
}

bool Doublewriter::Write(PageId page, const std::byte* data, LocationWord current,
                         std::atomic<size_t>* unwritten) {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (core_.poisoned() || !Prepare()) return false;
      if (Batch* batch = OpenBatch()) {
        return Put(*batch, current.slot(), page, data, current, unwritten);
      }
    }
    WriteOut();  // waits for the batch that is being written, and makes room
  }
}

bool Doublewriter::Overtake(PageId page, const std::byte* data, std::atomic<size_t>* unwritten) {
  const LocationWord seen = directory_.map().Load(page);
  if (!seen.in_memory() || directory_.frames().GroupOf(seen.frame()).in_place_helper != this)
    return false;
  MutexLock lock(mutex_);
  Batch* batch = OpenBatch();
  const LocationWord word = directory_.map().Load(page);
  if (batch == nullptr || core_.poisoned() || !word.in_memory() ||
      &directory_.frames().GroupOf(word.frame()) != batch->group) {
    return false;
  }
  const SlotId target = directory_.frames().Frame(word.frame()).target;
  return Put(*batch, target, page, data, word, unwritten);
}

void Doublewriter::WriteIfStillFull() {
  MutexLock io(io_mutex_);
  if (has_full_batch_.load(std::memory_order_acquire)) WriteOpenBatch();
}

void Doublewriter::WriteOut() {
  MutexLock io(io_mutex_);
  WriteOpenBatch();
}

void Doublewriter::Help() {
  // If a batch is being written, wait for it, and leave the batch being filled to fill further.
  if (io_mutex_.TryLock()) {
    WriteOpenBatch();
  } else {
    io_mutex_.Lock();
  }
  io_mutex_.Unlock();
}

void Doublewriter::WriteOpenBatch() {
  Batch* batch = CloseBatch();
  if (batch == nullptr) return;
  const absl::Status status = CatchOutOfMemory([&]() LATCHKEY_REQUIRES(io_mutex_) -> absl::Status {
    if (!LATCHKEY_CANARY("no-torn-page-protection")) {
      LATCHKEY_RETURN_IF_ERROR(WriteToArea(*batch));
    }
    // Makes the area durable, and the in-place writes of the previous batch.
    if (!LATCHKEY_CANARY("doublewrite-without-sync")) LATCHKEY_RETURN_IF_ERROR(Sync());
    return WriteToPlaces(*batch);
  });
  if (!status.ok()) {
    core_.Poison(status);
    return;
  }
  Reopen(*batch);
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

Doublewriter::Batch* Doublewriter::CloseBatch() {
  MutexLock lock(mutex_);
  Batch& batch = batches_[static_cast<size_t>(open_)];
  if (batch.filled == 0 || batch.closed || core_.poisoned()) return nullptr;
  batch.closed = true;
  has_full_batch_.store(false, std::memory_order_release);
  open_ = 1 - open_;
  return &batch;
}

absl::Status Doublewriter::WriteToArea(const Batch& batch) {
  NoteLogReach(batch);
  const size_t bytes = size_t{batch.filled + 1} * core_.geometry.page_size;
  const uint64_t offset = DoublewriteOffset(next_area_);
  if (!LATCHKEY_CANARY("doublewrite-area-not-alternated")) next_area_ = 1 - next_area_;
  core_.counters.protection_bytes.fetch_add(bytes, std::memory_order_relaxed);
  core_.counters.protected_page_writes.fetch_add(batch.filled, std::memory_order_relaxed);
  return WriteRepeatedly([&] {
    return core_.device.Write(offset, {batch.group->memory.data(), bytes}, IoClass::kProtection);
  });
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

absl::Status Doublewriter::WriteToPlaces(Batch& batch) {
  absl::Status status;
  uint32_t next = 0;
  window_->Run(
      *queue_,
      [&](TaggedRequest<FrameIndex>& request) {
        while (next < batch.filled) {
          const FrameIndex index = batch.group->IndexOf(next);
          CopyFrame& frame = batch.group->frames[next++];
          if (directory_.map().Load(frame.page) != LocationWord::InMemory(index, frame.sequence)) {
            frame.EndTicket();  // overtaken by a later frame of the batch
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
      },
      // The area keeps the batch until all of it is in its places.
      [&](const IoRequest& request, FrameIndex index) {
        const absl::Status written = !request.status.ok()
                                         ? WriteFrameAgain(directory_, index, request.status)
                                     : directory_.InstallWritten(index) ? absl::OkStatus()
                                                                        : OutOfMemory();
        if (status.ok()) status = written;
      });
  return status;
}

void Doublewriter::Reopen(Batch& batch) {
  for (uint32_t i = 0; i < batch.filled; ++i) {
    directory_.frames().AwaitUnpinned(core_.runtime, batch.group->IndexOf(i));
  }
  MutexLock lock(mutex_);
  batch.filled = 0;
  batch.closed = false;
}

}  // namespace latchkey
