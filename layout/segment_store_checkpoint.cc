// Making the store durable: flush and checkpoint.
//
// Order of a checkpoint: data written and synced -> map and table written -> sync -> superblock ->
// sync -> segments of the previous checkpoint free. A checkpoint is fuzzy: writers go on meanwhile.
// With a journal the engine does not wait for checkpoints of the map: they only bound the journal.
// When the journal is full and cannot grow, a checkpoint of the map takes the place of a round:
//
//   take the round's changes -> write the map, which contains them all, and the table -> sync ->
//   superblock -> sync -> free the superseded slots, the old journal and the old checkpoint
//
// No other round runs meanwhile. A change made meanwhile may be in the captured map or not, but it
// is in the next round; the slot that it supersedes stays owned until that round is done. So after
// a crash every word is the captured one, or one that a partly durable next round wrote. In either
// case it names a sound page, and no other page has got that slot.
#include <algorithm>
#include <utility>

#include "layout/segment_store_impl.h"
#include "layout/write/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Segments that may be added while a checkpoint is being written: its table has room for so many.
constexpr uint32_t kTableSlack = 4096;

}  // namespace

absl::Status SegmentStoreImpl::Flush() {
  // Nothing has changed since the store was opened, or closed cleanly.
  if (!marked_unclean_.load(std::memory_order_acquire)) return core_.WriteStatus();
  const WriteTicket accepted = accepted_ticket();
  LATCHKEY_RETURN_IF_ERROR(WriteOut());
  LATCHKEY_RETURN_IF_ERROR(directory_.journal() != nullptr ? CommitRoundOrMap() : SyncData());
  directory_.AdvanceDurableTicket(accepted);
  return absl::OkStatus();
}

// As Flush, but a round that does not fit into the journal is left to the checkpoint that follows.
absl::Status SegmentStoreImpl::FlushForCheckpoint() {
  if (!marked_unclean_.load(std::memory_order_acquire)) return core_.WriteStatus();
  LATCHKEY_RETURN_IF_ERROR(WriteOut());
  const absl::Status round = directory_.journal() != nullptr ? directory_.RunRound() : SyncData();
  return directory_.journal() != nullptr && IsJournalFull(round) ? absl::OkStatus() : round;
}

absl::Status SegmentStoreImpl::SyncData() {
  const absl::Status synced = device_->Sync();
  if (synced.ok()) return synced;
  core_.Poison(synced);
  return core_.WriteStatus();
}

absl::Status SegmentStoreImpl::CommitRoundOrMap() {
  const absl::Status status = directory_.RunRound();
  if (!IsJournalFull(status)) return status;
  MutexLock lock(checkpoint_mutex_);
  return CommitAgainOrMap();
}

// Runs in the cleaner's actor too. The holder of the mutex may be waiting for the cleaner, so this
// only tries to lock it.
absl::Status SegmentStoreImpl::TryCommitRoundOrMap() {
  absl::Status status = directory_.RunRound();
  if (!IsJournalFull(status) || !checkpoint_mutex_.TryLock()) return status;
  status = CatchOutOfMemory(
      [this]() LATCHKEY_REQUIRES(checkpoint_mutex_) { return CommitAgainOrMap(); });
  checkpoint_mutex_.Unlock();
  return status;
}

absl::Status SegmentStoreImpl::CommitAgainOrMap() {
  const absl::Status status = directory_.RunRound();  // a checkpoint may have made room meanwhile
  return IsJournalFull(status) ? CheckpointMap() : status;
}

// On return every page accepted before the call is in its slot, and the map names that slot.
absl::Status SegmentStoreImpl::WriteOut() {
  // If a write is overtaken while it is flushed, the map does not name the copy it wrote. The newer
  // copy was accepted before that write was done, so flushing once more writes it.
  uint64_t overtaken = 0;
  do {
    overtaken = directory_.overtaken();
    writer_.FlushUserLogs();
    for (PageWriteQueue* queue : AllQueues()) queue->WaitUntil(0);
    if (doublewriter_ != nullptr) doublewriter_->Flush();
    LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  } while (directory_.overtaken() != overtaken);
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::EnsureMarkedUnclean() {
  if (marked_unclean_.load(std::memory_order_acquire)) return absl::OkStatus();
  std::vector<PageId> frees;
  {
    MutexLock lock(checkpoint_mutex_);
    if (marked_unclean_.load(std::memory_order_relaxed)) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(BecomeUnclean());
    frees.swap(unmarked_frees_);
  }
  for (const PageId page : frees) FreePage(page);
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::BecomeUnclean() {
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  absl::Status status = CatchOutOfMemory([this]() -> absl::Status {
    if (journal_device_ == nullptr || directory_.journal() != nullptr) return absl::OkStatus();
    return OpenNewJournal();
  });
  if (absl::IsResourceExhausted(status) && !IsOutOfMemory(status))
    return status;  // nothing has changed
  if (status.ok())
    status =
        CatchOutOfMemory([this]() LATCHKEY_REQUIRES(checkpoint_mutex_) { return MarkUnclean(); });
  if (status.ok() && !started_) {
    status = CatchOutOfMemory([this] { return cleaner_.Start(); });
    started_ = status.ok();
  }
  if (!status.ok()) {
    core_.Poison(status);
    return core_.WriteStatus();
  }
  cleaner_.set_idle(false);
  marked_unclean_.store(true, std::memory_order_release);
  space_.Signal();  // the wanted utilisation may have changed since: the file grows or shrinks
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::MarkUnclean() {
  Superblock next = superblock_;
  next.generation += 1;
  next.clean = false;
  next.crash_safe = directory_.journal() != nullptr;
  next.doublewrite_pages = 0;
  if (doublewriter_ != nullptr) next.doublewrite_pages = doublewriter_->area_pages();
  if (next.crash_safe && !started_) {
    LATCHKEY_RETURN_IF_ERROR(directory_.journal()->StartWriting());
    usable_journal_.store(directory_.journal(), std::memory_order_release);
  }
  // After a crash the replay still begins at the old position. After a clean close it begins here.
  if (superblock_.clean && next.crash_safe)
    next.journal_start = Raw(directory_.journal()->Position());
  if (!superblock_.clean && superblock_.doublewrite_pages >= next.doublewrite_pages) {
    return absl::OkStatus();  // after a crash: the superblock on the device says all of this
  }
  // The checkpoint chain keeps the generation under which it was written.
  LATCHKEY_RETURN_IF_ERROR(CommitSuperblock(next));
  superblock_ = std::move(next);
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::Checkpoint(std::span<const std::byte> client_root, bool clean) {
  if (client_root.size() > kMaxClientRoot) {
    return InvalidArgument("client root of {} bytes exceeds {}", client_root.size(),
                           kMaxClientRoot);
  }
  {
    MutexLock lock(checkpoint_mutex_);
    if (superblock_.clean && std::ranges::equal(client_root, superblock_.client_root)) {
      return core_.WriteStatus();  // nothing has changed since
    }
  }
  LATCHKEY_RETURN_IF_ERROR(EnsureMarkedUnclean());
  return WriteCheckpoint(client_root, clean);
}

absl::StatusOr<std::vector<SegmentId>> SegmentStoreImpl::TakeCheckpointSegments(MetaClaim claim) {
  const auto words = [&] {
    return directory_.map().limit() + directory_.segments().total() + kTableSlack;
  };
  const uint64_t per_segment = CheckpointWriter::WordsPerSegment(core_.geometry);
  std::vector<SegmentId> segments;
  const OnException give_back([&] {
    for (const SegmentId taken : segments) directory_.segments().ReleaseMeta(taken);
  });
  segments.reserve(words() / per_segment + 8);
  while (segments.size() * per_segment < words()) {
    const absl::StatusOr<SegmentId> segment = space_.TakeMetaSegment(claim);
    if (!segment.ok()) {
      for (const SegmentId taken : segments) directory_.segments().ReleaseMeta(taken);
      return segment.status();
    }
    segments.push_back(*segment);
  }
  return segments;
}

absl::Status SegmentStoreImpl::WriteCheckpoint(std::span<const std::byte> client_root, bool clean) {
  MutexLock lock(checkpoint_mutex_);
  const WriteTicket accepted = accepted_ticket();
  LATCHKEY_RETURN_IF_ERROR(FlushForCheckpoint());
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<SegmentId> segments,
                            TakeCheckpointSegments(MetaClaim::kWaits));
  if (directory_.journal() != nullptr && !clean) {
    LATCHKEY_RETURN_IF_ERROR(CheckpointInto(std::move(segments), client_root, clean));
    directory_.AdvanceDurableTicket(accepted);
    return absl::OkStatus();
  }
  // The segment cleaner is stopped from here on, and nothing below waits for it.
  MutexLock no_pass(cleaner_.pass_mutex());
  LATCHKEY_RETURN_IF_ERROR(CheckpointInto(std::move(segments), client_root, clean));
  directory_.AdvanceDurableTicket(accepted);
  if (clean) {
    space_.TrimDevice();
    cleaner_.set_idle(true);
    marked_unclean_.store(false, std::memory_order_release);
  }
  return absl::OkStatus();
}

// Runs in the cleaner's actor, so it must not wait for anything that only the cleaner provides.
void SegmentStoreImpl::CheckpointMapIfWanted() {
  if (directory_.journal() == nullptr || core_.poisoned() ||
      !directory_.journal()->WantsCheckpoint(directory_.map().limit()) ||
      !checkpoint_mutex_.TryLock()) {
    return;
  }
  // Without memory or free segments the journal grows further; a later call tries again.
  CatchOutOfMemory([this]() LATCHKEY_REQUIRES(checkpoint_mutex_) {
    return CheckpointMap();
  }).IgnoreError();
  checkpoint_mutex_.Unlock();
}

absl::Status SegmentStoreImpl::CheckpointMap() {
  if (!marked_unclean_.load(std::memory_order_relaxed)) return absl::OkStatus();
  const std::vector<std::byte> root = superblock_.client_root;
  // A full journal keeps superseded slots from being released, so the checkpoint may take the last
  // free segments.
  const MetaClaim claim = directory_.journal()->full() ? MetaClaim::kLast : MetaClaim::kSpare;
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<SegmentId> segments, TakeCheckpointSegments(claim));
  return CheckpointInto(std::move(segments), root, /*clean=*/false);
}

absl::Status SegmentStoreImpl::CheckpointInto(std::vector<SegmentId> segments,
                                              std::span<const std::byte> client_root, bool clean) {
  Superblock next;
  // A clean checkpoint needs no journal, so it contains the round. So does one for a full journal.
  const bool is_round = directory_.journal() != nullptr && (clean || directory_.journal()->full());
  const auto commit = [&]() LATCHKEY_REQUIRES(checkpoint_mutex_) {
    return CaptureAndCommit(segments, next, is_round);
  };
  const absl::Status status = CatchOutOfMemory([&]() LATCHKEY_REQUIRES(checkpoint_mutex_) {
    next = superblock_;
    next.generation += 1;
    next.clean = clean;
    next.client_root.assign(client_root.begin(), client_root.end());
    return is_round ? directory_.RunRoundWith(commit) : commit();
  });
  if (!status.ok()) {
    core_.Poison(status);
    return core_.WriteStatus();
  }
  for (const SegmentId old : checkpoint_segments_) directory_.segments().ReleaseMeta(old);
  checkpoint_segments_ = std::move(segments);
  superblock_ = std::move(next);
  if (directory_.journal() != nullptr)
    directory_.journal()->Truncate(Lsn{superblock_.journal_start});
  return absl::OkStatus();
}

// With a journal writers go on while the words are captured. The journal position is noted before
// that, so the replay from there brings every page to its newest word.
absl::Status SegmentStoreImpl::CaptureAndCommit(std::vector<SegmentId>& segments, Superblock& next,
                                                bool is_round) {
  if (directory_.journal() != nullptr) next.journal_start = Raw(directory_.journal()->Position());
  LATCHKEY_RETURN_IF_ERROR(WriteMapAndTable(next.generation, segments, next));
  if (directory_.journal() != nullptr && LATCHKEY_CANARY("journal-position-after-the-map")) {
    next.journal_start = Raw(directory_.journal()->Position());
  }
  if (!LATCHKEY_CANARY("superblock-before-what-it-names")) {
    LATCHKEY_RETURN_IF_ERROR(SyncCaptured(is_round));
  }
  return CommitSuperblock(next);
}

// With a journal, a round after the capture makes all captured changes durable in the journal. If
// the journal has no room for that round, the replay ends earlier. That is safe, because the slots
// that the replay then names stay owned until the round is done.
absl::Status SegmentStoreImpl::SyncCaptured(bool is_round) {
  if (directory_.journal() == nullptr || is_round) return device_->Sync();
  const absl::Status round = directory_.RunRound();
  return IsJournalFull(round) ? device_->Sync() : round;
}

absl::Status SegmentStoreImpl::CommitSuperblock(Superblock& next) {
  next.log_reach = Raw(core_.LogReach());
  LATCHKEY_RETURN_IF_ERROR(
      WriteSuperblock(*device_, next, [this]() LATCHKEY_REQUIRES(checkpoint_mutex_) {
        const absl::Status writable = core_.WriteStatus();
        return writable.ok() && checkpoint_gate_ != nullptr ? checkpoint_gate_() : writable;
      }));
  core_.generation.store(next.generation, std::memory_order_release);
  return absl::OkStatus();
}

void SegmentStoreImpl::SetCheckpointGate(std::function<absl::Status()> may_go_on) {
  MutexLock lock(checkpoint_mutex_);
  checkpoint_gate_ = std::move(may_go_on);
}

SegmentEntry SegmentStoreImpl::EntryOf(SegmentId segment, const std::vector<SegmentId>& own) const {
  SegmentEntry entry{SegmentState::kFree, directory_.segments().KindOf(segment),
                     directory_.segments().BirthOf(segment)};
  switch (directory_.segments().StateOf(segment)) {
    case SegmentState::kOpen:
    case SegmentState::kClosed:
    case SegmentState::kCleaning:
      entry.state = SegmentState::kClosed;
      break;
    case SegmentState::kMeta:
      if (std::ranges::find(own, segment) != own.end()) entry.state = SegmentState::kMeta;
      break;
    case SegmentState::kFree:
    case SegmentState::kAbsent:
    case SegmentState::kRetired:
      break;
  }
  return entry;
}

absl::Status SegmentStoreImpl::WriteWords(CheckpointWriter& out, uint64_t limit, uint32_t* total,
                                          const std::vector<SegmentId>& segments) {
  for (uint64_t id = 0; id < limit; ++id) {
    LATCHKEY_RETURN_IF_ERROR(out.Put(directory_.DurableWord(PageId{id}).bits()));
  }
  // The table is written after the map, so it has the segment of every slot that the map names.
  *total = directory_.segments().total();
  for (uint32_t s = 0; s < *total; ++s) {
    LATCHKEY_RETURN_IF_ERROR(out.Put(EntryOf(SegmentId{s}, segments).Encode()));
  }
  return out.Finish();
}

absl::Status SegmentStoreImpl::WriteMapAndTable(uint64_t generation,
                                                std::vector<SegmentId>& segments,
                                                Superblock& next) {
  const uint64_t limit = directory_.map().limit();
  uint32_t total = 0;
  for (;;) {
    CheckpointWriter out(core_, generation, segments);
    const absl::Status written = WriteWords(out, limit, &total, segments);
    core_.counters.meta_bytes_written.fetch_add(out.bytes_written() + 2 * kSuperblockSize,
                                                std::memory_order_relaxed);
    if (written.ok()) break;
    // A segment of the chain names the next one, so all of the chain is written again.
    if (!ReplaceCheckpointSegment(directory_, segments[out.segment_index()], written))
      return written;
  }
  next.page_id_limit = limit;
  next.segments = total;
  next.checkpoint_segment = Raw(segments.front());
  next.checkpoint_generation = generation;
  next.checkpoint_bytes = 8 * (limit + total);
  next.space_utilization = options_.space_utilization;
  next.layout = options_.layout.name();
  next.clock = accepted_ticket();
  return absl::OkStatus();
}

}  // namespace latchkey
