#include "layout/map/page_directory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout/image/page_image.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/racy_memory.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {

void PageDirectory::SetListener(SpaceListener* listener) {
  listener_ = listener;
  segments_.set_listener(listener);
  if (journal_ != nullptr) journal_->set_listener(listener);
}

void PageDirectory::SetJournal(std::unique_ptr<MapJournal> journal) {
  journal_ = std::move(journal);
  journal_->set_listener(listener_);
}

absl::Status PageDirectory::NotAllocated(PageId id) const {
  return InvalidArgument("page {} is not allocated (ids handed out are below {})", Raw(id),
                         map_.limit());
}

LocationWord PageDirectory::DurableWord(PageId id) const {
  for (;;) {
    const LocationWord word = map_.Load(id);
    if (!word.in_memory()) {
      return word.on_device() ? word : LocationWord::Free(word.sequence());
    }
    const LocationWord durable(frames_.Frame(word.frame()).durable_word.load());
    if (map_.Load(id) != word) continue;
    return durable.on_device() ? durable : LocationWord::Free(durable.sequence());
  }
}

void PageDirectory::TakeTicket(CopyFrame& frame, std::atomic<size_t>* unwritten) {
  frame.unwritten = unwritten;
  if (unwritten != nullptr) unwritten->fetch_add(1);
  // The frame gets the ticket before the counter does: a thread that sees the ticket taken also
  // sees that its write is not done.
  frame.ticket.store(accepted_.load(std::memory_order_seq_cst) + 1, std::memory_order_seq_cst);
  accepted_.fetch_add(1, std::memory_order_seq_cst);
}

void PageDirectory::AdvanceDurableTicket(WriteTicket ticket) {
  WriteTicket now = durable_.load(std::memory_order_relaxed);
  while (now < ticket && !durable_.compare_exchange_weak(now, ticket)) {
  }
}

bool PageDirectory::DropCopies(PageId page, LocationWord& word) {
  LocationWord durable = word;
  if (word.in_memory()) {
    durable = LocationWord(frames_.Frame(word.frame()).durable_word.load());
  }
  const LocationWord unwritten = LocationWord::Unwritten(word.sequence());
  if (!durable.on_device()) return map_.CompareExchange(page, word, unwritten);
  if (!ChangeWord(page, word, unwritten, LocationWord::Free(unwritten.sequence()),
                  durable.slot())) {
    return false;
  }
  CountSaved(durable, unwritten);
  return true;
}

void PageDirectory::CountSaved(LocationWord before, LocationWord after) {
  const uint32_t whole = core_.geometry.slots_per_page;
  if (whole == 1) return;
  const auto saved = [whole](LocationWord word) -> uint64_t {
    return word.on_device() ? whole - word.slots() : 0;
  };
  saved_slots_.fetch_add(saved(after) - saved(before), std::memory_order_relaxed);
}

bool PageDirectory::RestoreOwner(PageId page, LocationWord word) {
  if (!segments_.RestoreOwner(word.slot(), page, word.slots())) return false;
  CountSaved(LocationWord(), word);
  return true;
}

void PageDirectory::RestoreClock(uint64_t clock) {
  accepted_.store(std::max(clock, accepted_ticket()), std::memory_order_relaxed);
}

bool PageDirectory::InstallWritten(FrameIndex index) {
  try {
    Install(index);
    return true;
  } catch (const std::bad_alloc&) {
    core_.Poison(OutOfMemory());
    return false;
  }
}

void PageDirectory::Install(FrameIndex index) {
  CopyFrame& frame = frames_.Frame(index);
  const LocationWord before(frame.durable_word.load(std::memory_order_relaxed));
  LocationWord expected = frame.moved ? before : LocationWord::InMemory(index, frame.sequence);
  const LocationWord installed = LocationWord::OnDevice(frame.target, frame.sequence, frame.slots);
  const bool supersedes = before.on_device() && before.slot() != frame.target;
  const bool at_once = supersedes && LATCHKEY_CANARY("slot-reused-before-journal");
  const bool done =
      frame.page != kInvalidPageId && ChangeWord(frame.page, expected, installed, installed,
                                                 supersedes && !at_once ? before.slot() : kNoSlot);
  if (!done) {
    // Overtaken in a later doublewrite batch: the slot stays the page's. It now holds a later write
    // than its durable word says, which a reader accepts after a crash.
    const bool over_itself = !frame.moved && before.on_device() && before.slot() == frame.target;
    if (over_itself && !LATCHKEY_CANARY("overtaken-page-loses-its-slot")) return frame.EndTicket();
    // Overtaken: no durable word ever named the target slot, so it may be reused at once.
    Release(frame.target);
    return Forget(frame);
  }
  CountSaved(before, installed);
  if (at_once) Release(before.slot());
  if (supersedes && LATCHKEY_CANARY("discarded-before-journal")) Discard(before.slot());
  frame.EndTicket();
}

// The slot loses its owner. Its content is dead: no page and no recovery reads it any more.
void PageDirectory::Release(SlotId slot) {
  Discard(slot);  // now, because from ReleaseSlot on another page may be written here
  segments_.ReleaseSlot(slot);
}

// A discard is a hint: the store works without it, so its error is ignored.
void PageDirectory::Discard(SlotId slot) {
  if (!discards_slots()) return;
  core_.device.Discard(core_.geometry.OffsetOf(slot), core_.geometry.page_size).IgnoreError();
}

void PageDirectory::ReleaseMeta(SegmentId segment) {
  if (is_flash_) {
    core_.device.Discard(core_.geometry.OffsetOf(segment), core_.geometry.segment_size)
        .IgnoreError();
  }
  segments_.ReleaseMeta(segment);
}

void PageDirectory::Forget(CopyFrame& frame) {
  if (!frame.moved) overtaken_.fetch_add(1, std::memory_order_seq_cst);
  frame.EndTicket();
}

bool PageDirectory::ChangeWord(PageId page, LocationWord& expected, LocationWord desired,
                               LocationWord durable_word, SlotId superseded) {
  if (journal_ != nullptr) {
    return journal_->Change(map_, page, expected, desired, durable_word, superseded);
  }
  if (!map_.CompareExchange(page, expected, desired)) return false;
  if (superseded != kNoSlot) Release(superseded);
  return true;
}

void PageDirectory::PaceRounds() {
  const uint64_t segment = core_.geometry.pages_per_segment();
  constexpr uint64_t kMost = 4096;
  journal_->set_most_pending_slots(
      std::clamp(segments_.total() * segment / 32, std::min(segment / 2, kMost), kMost));
}

// The newest ticket such that it and all before it are in the map. A batch taken after this call
// contains their changes.
WriteTicket PageDirectory::NewestInMap(WriteTicket accepted) const {
  return std::min(accepted, frames_.OldestTicket() - 1);
}

absl::Status PageDirectory::RunRound() {
  MutexLock lock(round_mutex_);
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  PaceRounds();
  const WriteTicket accepted = accepted_.load(std::memory_order_seq_cst);
  const WriteTicket done = NewestInMap(accepted);
  const absl::Status taken =
      journal_->TakeWithRoom(round_batch_);  // or throws with nothing changed
  if (absl::IsResourceExhausted(taken)) return taken;
  if (!taken.ok()) return EndRound(done, taken);
  const Lsn log_reach = core_.LogReach();
  return EndRound(done, CatchOutOfMemory([&]() LATCHKEY_REQUIRES(round_mutex_) -> absl::Status {
                    absl::Status synced;
                    const bool unsynced = core_.counters.writes_again.load() > 0 &&
                                          LATCHKEY_CANARY("no-sync-after-a-retry");
                    if (!LATCHKEY_CANARY("journal-before-data") && !unsynced) {
                      synced = core_.device.Sync();
                    }
                    if (!synced.ok() && !LATCHKEY_CANARY("sync-error-swallowed")) return synced;
                    return journal_->Write(round_batch_, accepted, log_reach);
                  }));
}

absl::Status PageDirectory::RunRoundWith(absl::FunctionRef<absl::Status()> capture) {
  MutexLock lock(round_mutex_);
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  const WriteTicket done = NewestInMap(accepted_.load(std::memory_order_seq_cst));
  journal_->Take(round_batch_);  // or throws with nothing changed
  const absl::Status status = EndRound(done, CatchOutOfMemory(capture));
  asked_for_checkpoint_ = false;  // it is done: the next one is asked for anew
  return status;
}

void PageDirectory::GiveUpJournal() {
  MutexLock lock(round_mutex_);
  CatchOutOfMemory([this] {
    journal_->GiveUpAll();
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status PageDirectory::EndRound(WriteTicket done, const absl::Status& status) {
  if (!status.ok()) {
    core_.Poison(status);
    return core_.WriteStatus();
  }
  for (const SlotId slot : round_batch_.superseded) Release(slot);
  AdvanceDurableTicket(done);
  // The listener wakes the segment cleaner. Each pass of the cleaner ends with a round, so a signal
  // at every round would never let it sleep. It tries a checkpoint again by itself.
  const bool wants = journal_->WantsCheckpoint(map_.limit());
  const bool asked = std::exchange(asked_for_checkpoint_, wants);
  if (wants && !asked && listener_ != nullptr) listener_->OnRoundDue();
  return absl::OkStatus();
}

bool IsJournalFull(const absl::Status& round) {
  return absl::IsResourceExhausted(round) && !IsOutOfMemory(round);
}

absl::Status PageDirectory::Prove(PageId page, LocationWord word, std::span<const std::byte> read) {
  const absl::Status proof = VerifyPage(read, page, word.sequence(), core_.database_id);
  if (proof.ok() || !recovered_) return proof;
  const PageHeader header = PageHeaderOf(read);
  if (!word.OlderThan(header.write_sequence) ||
      !VerifyPage(read, page, header.write_sequence, core_.database_id).ok()) {
    return proof;
  }
  LocationWord expected = word;
  const LocationWord newer = word.WithSequence(header.write_sequence);
  ChangeWord(page, expected, newer, newer, kNoSlot);
  return absl::AbortedError("the page is newer than the map");
}

absl::Status PageDirectory::ProveSlots(PageId page, LocationWord word,
                                       std::span<const std::byte> slots) {
  if (word.slots() == core_.geometry.slots_per_page) return Prove(page, word, slots);
  LATCHKEY_ASSIGN_OR_RETURN(const UnpackedPage unpacked,
                            UnpackedPage::Of(slots, page, core_.geometry.page_size));
  return Prove(page, word, unpacked.span());
}

absl::Status PageDirectory::ProveBlocks(PageId page, LocationWord word,
                                        std::span<const std::byte> blocks, std::byte* out) {
  const StoreGeometry& geometry = core_.geometry;
  const std::span<const std::byte> slots =
      blocks.subspan(geometry.OffsetInBlock(word.slot()), word.slots() * geometry.slot_size());
  if (word.slots() == geometry.slots_per_page) {
    LATCHKEY_RETURN_IF_ERROR(Prove(page, word, slots));
    if (slots.data() != out) RacyCopyIn(out, slots.data(), slots.size());
    return absl::OkStatus();
  }
  LATCHKEY_ASSIGN_OR_RETURN(const UnpackedPage unpacked,
                            UnpackedPage::Of(slots, page, geometry.page_size));
  LATCHKEY_RETURN_IF_ERROR(Prove(page, word, unpacked.span()));
  RacyCopyIn(out, unpacked.span().data(), geometry.page_size);
  return absl::OkStatus();
}

bool PageDirectory::Accept(FrameIndex index, PageId page, const std::byte* data,
                           std::optional<LocationWord> only_from) {
  std::byte* memory = frames_.Memory(index);
  std::memcpy(memory, data, core_.geometry.page_size);
  frames_.Frame(index).slots = core_.geometry.slots_per_page;
  return AcceptSealed(index, page, only_from, [&](uint32_t sequence) {
    SealPage({memory, core_.geometry.page_size}, page, sequence, core_.database_id);
  });
}

void PageDirectory::AcceptImage(FrameIndex index, PageId page, const std::byte* data,
                                std::span<const std::byte> image, uint32_t slots) {
  std::byte* memory = frames_.Memory(index);
  std::memcpy(memory, image.data(), image.size());
  std::memset(memory + image.size(), 0, slots * core_.geometry.slot_size() - image.size());
  frames_.Frame(index).slots = slots;
  AcceptSealed(index, page, std::nullopt, [&](uint32_t sequence) {
    SealImage({memory, image.size()}, {data, core_.geometry.page_size}, page, sequence,
              core_.database_id);
  });
}

bool PageDirectory::AcceptSealed(FrameIndex index, PageId page,
                                 std::optional<LocationWord> only_from,
                                 absl::FunctionRef<void(uint32_t sequence)> seal) {
  CopyFrame& frame = frames_.Frame(index);
  frame.page = page;
  frame.moved = false;
  frame.sequence = 0;
  LocationWord word = map_.Load(page);
  for (;;) {
    LATCHKEY_CHECK(!word.free());
    if (only_from && word != *only_from) return false;
    if (frame.sequence != word.next_sequence()) {
      frame.sequence = word.next_sequence();
      seal(frame.sequence);
    }
    // If the frame behind the word is recycled meanwhile, the exchange below fails.
    const uint64_t durable =
        word.in_memory() ? frames_.Frame(word.frame()).durable_word.load(std::memory_order_relaxed)
                         : word.bits();
    frame.durable_word.store(durable, std::memory_order_relaxed);
    if (map_.CompareExchange(page, word, LocationWord::InMemory(index, frame.sequence))) {
      return true;
    }
  }
}

}  // namespace latchkey
