#include "layout/store_core.h"

#include <algorithm>
#include <cstring>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {

void StoreCore::Poison(const absl::Status& error) {
  MutexLock lock(fatal_mutex);
  if (!fatal.ok()) return;
  fatal = CatchOutOfMemory([&] {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the store is read-only since a write failed: {}; close and reopen it once "
                      "the device works",
                      std::string_view(error.message().data(), error.message().size()));
  });
  if (IsOutOfMemory(fatal) || IsOutOfMemory(error)) fatal = fatal_without_memory;
  is_poisoned.store(true, std::memory_order_release);
  CatchOutOfMemory([&]() LATCHKEY_REQUIRES(fatal_mutex) {
    LogTo(log_sink, LogLevel::kError, std::string(fatal.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status StoreCore::WriteStatus() const {
  if (!poisoned()) return absl::OkStatus();
  MutexLock lock(fatal_mutex);
  return fatal;
}

void StoreCore::TakeTicket(CopyFrame& frame, std::atomic<size_t>* unwritten) {
  frame.unwritten = unwritten;
  if (unwritten != nullptr) unwritten->fetch_add(1);
  // The frame gets the ticket before the counter does: a thread that sees the ticket taken also
  // sees that its write is not done.
  frame.ticket.store(accepted_ticket.load(std::memory_order_seq_cst) + 1,
                     std::memory_order_seq_cst);
  accepted_ticket.fetch_add(1, std::memory_order_seq_cst);
}

void StoreCore::SetLogPosition(std::function<Lsn()> durable) {
  LogReach();  // keeps the old source's last position
  SpinLatchGuard guard(log_latch, runtime);
  log_position.swap(durable);
}

Lsn StoreCore::LogReach() const {
  SpinLatchGuard guard(log_latch, runtime);
  // Not the greater of the two, because the noted value may be of an earlier log.
  if (log_position != nullptr) known_log_reach = log_position();
  return known_log_reach;
}

void StoreCore::NoteLogReach(Lsn reach) {
  SpinLatchGuard guard(log_latch, runtime);
  known_log_reach = std::max(known_log_reach, reach);
}

void StoreCore::AdvanceDurableTicket(WriteTicket ticket) {
  WriteTicket now = durable.load(std::memory_order_relaxed);
  while (now < ticket && !durable.compare_exchange_weak(now, ticket)) {
  }
}

bool StoreCore::InstallWritten(FrameIndex index) {
  try {
    Install(index);
    return true;
  } catch (const std::bad_alloc&) {
    Poison(OutOfMemory());
    return false;
  }
}

void StoreCore::Install(FrameIndex index) {
  CopyFrame& frame = frames.Frame(index);
  const LocationWord before(frame.durable_word.load(std::memory_order_relaxed));
  LocationWord expected = frame.moved ? before : LocationWord::InMemory(index, frame.sequence);
  const LocationWord installed = LocationWord::OnDevice(frame.target, frame.sequence);
  const bool supersedes = before.on_device() && before.slot() != frame.target;
  const bool at_once = supersedes && LATCHKEY_CANARY("slot-reused-before-journal");
  const bool done =
      frame.page != kInvalidPageId && ChangeWord(frame.page, expected, installed, installed,
                                                 supersedes && !at_once ? before.slot() : kNoSlot);
  // Overtaken: no durable word ever named the target slot, so it may be reused at once.
  if (!done) {
    segments.ReleaseSlot(frame.target);
    return Forget(frame);
  }
  if (at_once) segments.ReleaseSlot(before.slot());
  frame.EndTicket();
}

void StoreCore::Forget(CopyFrame& frame) {
  if (!frame.moved) overtaken.fetch_add(1, std::memory_order_seq_cst);
  frame.EndTicket();
}

bool StoreCore::ChangeWord(PageId page, LocationWord& expected, LocationWord desired,
                           LocationWord durable_word, SlotId superseded) {
  if (journal != nullptr) {
    return journal->Change(map, page, expected, desired, durable_word, superseded);
  }
  if (!map.CompareExchange(page, expected, desired)) return false;
  if (superseded != kNoSlot) segments.ReleaseSlot(superseded);
  return true;
}

void StoreCore::PaceRounds() {
  const uint64_t slots = uint64_t{segments.total()} * geometry.slots_per_segment;
  journal->set_most_pending_slots(
      std::clamp<uint64_t>(slots / 32, geometry.slots_per_segment / 2, 4096));
}

// The newest ticket such that it and all before it are in the map. A batch taken after this call
// contains their changes.
WriteTicket StoreCore::NewestInMap(WriteTicket accepted) const {
  return std::min(accepted, frames.OldestTicket() - 1);
}

absl::Status StoreCore::CommitRound() {
  MutexLock lock(round_mutex);
  LATCHKEY_RETURN_IF_ERROR(WriteStatus());
  PaceRounds();
  const WriteTicket accepted = accepted_ticket.load(std::memory_order_seq_cst);
  const WriteTicket done = NewestInMap(accepted);
  const absl::Status taken = journal->TakeWithRoom(round_batch);  // or throws with nothing changed
  if (absl::IsResourceExhausted(taken)) return taken;
  if (!taken.ok()) return EndRound(done, taken);
  const Lsn log_reach = LogReach();
  return EndRound(done, CatchOutOfMemory([&]() LATCHKEY_REQUIRES(round_mutex) -> absl::Status {
                    absl::Status synced;
                    const bool unsynced = counters.writes_again.load() > 0 &&
                                          LATCHKEY_CANARY("no-sync-after-a-retry");
                    if (!LATCHKEY_CANARY("journal-before-data") && !unsynced) {
                      synced = device.Sync();
                    }
                    if (!synced.ok() && !LATCHKEY_CANARY("sync-error-swallowed")) return synced;
                    return journal->Write(round_batch, accepted, log_reach);
                  }));
}

absl::Status StoreCore::CommitRoundBy(absl::FunctionRef<absl::Status()> commit) {
  MutexLock lock(round_mutex);
  LATCHKEY_RETURN_IF_ERROR(WriteStatus());
  const WriteTicket done = NewestInMap(accepted_ticket.load(std::memory_order_seq_cst));
  journal->Take(round_batch);  // or throws with nothing changed
  return EndRound(done, CatchOutOfMemory(commit));
}

absl::Status StoreCore::EndRound(WriteTicket done, const absl::Status& status) {
  if (!status.ok()) {
    Poison(status);
    return WriteStatus();
  }
  for (const SlotId slot : round_batch.superseded) segments.ReleaseSlot(slot);
  AdvanceDurableTicket(done);
  if (journal->WantsCheckpoint(map.limit())) journal->Signal();
  return absl::OkStatus();
}

bool IsJournalFull(const absl::Status& round) {
  return absl::IsResourceExhausted(round) && !IsOutOfMemory(round);
}

absl::Status StoreCore::Prove(PageId page, LocationWord word, std::span<const std::byte> read) {
  const absl::Status proof = VerifyPage(read, page, word.sequence(), database_id);
  if (proof.ok() || !recovered) return proof;
  PageHeader header;
  std::memcpy(&header, read.data(), sizeof(header));
  if (!word.OlderThan(header.write_sequence) ||
      !VerifyPage(read, page, header.write_sequence, database_id).ok()) {
    return proof;
  }
  LocationWord expected = word;
  const LocationWord newer = word.WithSequence(header.write_sequence);
  ChangeWord(page, expected, newer, newer, kNoSlot);
  return absl::AbortedError("the page is newer than the map");
}

bool AcceptIntoFrame(StoreCore& core, FrameIndex index, PageId page, const std::byte* data,
                     std::optional<LocationWord> only_from) {
  CopyFrame& frame = core.frames.Frame(index);
  std::byte* memory = core.frames.Memory(index);
  std::memcpy(memory, data, core.geometry.page_size);
  frame.page = page;
  frame.moved = false;
  frame.sequence = 0;
  LocationWord word = core.map.Load(page);
  for (;;) {
    LATCHKEY_CHECK(!word.free());
    if (only_from && word != *only_from) return false;
    if (frame.sequence != word.next_sequence()) {
      frame.sequence = word.next_sequence();
      SealPage({memory, core.geometry.page_size}, page, frame.sequence, core.database_id);
    }
    // If the frame behind the word is recycled meanwhile, the exchange below fails.
    const uint64_t durable =
        word.in_memory()
            ? core.frames.Frame(word.frame()).durable_word.load(std::memory_order_relaxed)
            : word.bits();
    frame.durable_word.store(durable, std::memory_order_relaxed);
    if (core.map.CompareExchange(page, word, LocationWord::InMemory(index, frame.sequence))) {
      return true;
    }
  }
}

LocationWord AwaitInPlaceWrite(StoreCore& core, PageId page) {
  Backoff backoff(core.runtime);
  for (;;) {
    const LocationWord word = core.map.Load(page);
    if (!word.in_memory()) return word;
    WriteHelper* helper = core.frames.GroupOf(word.frame()).in_place_helper;
    if (helper == nullptr || core.poisoned()) return word;
    helper->Help();
    if (core.map.Load(page) == word) backoff.Pause();
  }
}

}  // namespace latchkey
