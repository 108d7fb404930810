// Making the store durable: flush and checkpoint.
//
// Order of a checkpoint: data written and synced -> map and table written -> sync -> superblock ->
// sync -> segments of the previous checkpoint free. Fuzzy otherwise: writers go on meanwhile. With
// a journal a checkpoint takes no part of what the engine waits for: it bounds the journal. Only
// when that is full and cannot grow, a checkpoint of the map takes the place of a round:
//
//   the round's changes taken -> map, which has them all, and table written -> sync -> superblock
//   -> sync -> the slots that the changes supersede free, and the journal, and the old checkpoint
//
// No round is under way meanwhile. What is changed meanwhile may be in the map that is captured,
// and is in the next round in any case; a slot that it supersedes stays owned until that is done.
// So after a crash every word is the captured one, or an earlier or later one of the next round
// that was durable in part, and names a sound page whose slot nobody else has got.
#include <algorithm>
#include <utility>

#include "layout/segment_store_impl.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Segments that may be added while a checkpoint is being written and still find room in its table.
constexpr uint32_t kTableSlack = 4096;

}  // namespace

absl::Status SegmentStoreImpl::Flush() {
  // Nothing has changed since the store was opened, or closed cleanly.
  if (!marked_unclean_.load(std::memory_order_acquire)) return core_.WriteStatus();
  const WriteTicket accepted = accepted_ticket();
  LATCHKEY_RETURN_IF_ERROR(WriteOut());
  LATCHKEY_RETURN_IF_ERROR(core_.journal != nullptr ? CommitRoundOrMap() : SyncData());
  core_.AdvanceDurableTicket(accepted);
  return absl::OkStatus();
}

// As Flush, but that a round that does not fit into the journal is left to the checkpoint.
absl::Status SegmentStoreImpl::FlushForCheckpoint() {
  if (!marked_unclean_.load(std::memory_order_acquire)) return core_.WriteStatus();
  LATCHKEY_RETURN_IF_ERROR(WriteOut());
  const absl::Status round = core_.journal != nullptr ? core_.CommitRound() : SyncData();
  return core_.journal != nullptr && IsJournalFull(round) ? absl::OkStatus() : round;
}

absl::Status SegmentStoreImpl::SyncData() {
  const absl::Status synced = device_->Sync();
  if (synced.ok()) return synced;
  core_.Poison(synced);
  return core_.WriteStatus();
}

absl::Status SegmentStoreImpl::CommitRoundOrMap() {
  const absl::Status status = core_.CommitRound();
  if (!IsJournalFull(status)) return status;
  MutexLock lock(checkpoint_mutex_);
  return CommitAgainOrMap();
}

// In the cleaner's actor: whoever has the mutex may wait for what only the cleaner brings.
absl::Status SegmentStoreImpl::TryCommitRoundOrMap() {
  absl::Status status = core_.CommitRound();
  if (!IsJournalFull(status) || !checkpoint_mutex_.TryLock()) return status;
  status = CatchOutOfMemory([this] { return CommitAgainOrMap(); });
  checkpoint_mutex_.Unlock();
  return status;
}

absl::Status SegmentStoreImpl::CommitAgainOrMap() {
  const absl::Status status = core_.CommitRound();  // a checkpoint may have made room meanwhile
  return IsJournalFull(status) ? CheckpointMap() : status;
}

// Everything accepted before is in its slot afterwards, and the map says so.
absl::Status SegmentStoreImpl::WriteOut() {
  // A write that is overtaken while it is flushed leaves nothing on the device that the map names:
  // then the copy that has overtaken it has to follow, which was accepted before the write was
  // done.
  uint64_t overtaken = 0;
  do {
    overtaken = core_.overtaken.load(std::memory_order_seq_cst);
    writer_.FlushUserLogs();
    for (PageWriteQueue* queue : AllQueues()) queue->WaitUntil(0);
    if (doublewriter_ != nullptr) doublewriter_->Flush();
    LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  } while (core_.overtaken.load(std::memory_order_seq_cst) != overtaken);
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
    if (journal_device_ == nullptr || core_.journal != nullptr) return absl::OkStatus();
    return OpenNewJournal();
  });
  if (absl::IsResourceExhausted(status) && !IsOutOfMemory(status))
    return status;  // nothing is done
  if (status.ok()) status = CatchOutOfMemory([this] { return MarkUnclean(); });
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
  space_.Signal();  // the file may have another size than the utilisation asked for now
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::MarkUnclean() {
  Superblock next = superblock_;
  next.generation += 1;
  next.clean = false;
  next.crash_safe = core_.journal != nullptr;
  next.doublewrite_pages = 0;
  if (doublewriter_ != nullptr) next.doublewrite_pages = doublewriter_->area_pages();
  if (next.crash_safe && !started_) {
    LATCHKEY_RETURN_IF_ERROR(core_.journal->StartWriting());
    usable_journal_.store(core_.journal.get(), std::memory_order_release);
  }
  // After a crash the journal is needed from where it was; otherwise nothing before this counts.
  if (superblock_.clean && next.crash_safe) next.journal_start = Raw(core_.journal->Position());
  if (!superblock_.clean && superblock_.doublewrite_pages >= next.doublewrite_pages) {
    return absl::OkStatus();  // after a crash, and nothing to add to what is there
  }
  // The chain keeps the generation that it was written under.
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
  const auto words = [&] { return core_.map.limit() + core_.segments.total() + kTableSlack; };
  const uint64_t per_segment = CheckpointWriter::WordsPerSegment(core_.geometry);
  std::vector<SegmentId> segments;
  const OnException give_back([&] {
    for (const SegmentId taken : segments) core_.segments.ReleaseMeta(taken);
  });
  segments.reserve(words() / per_segment + 8);
  while (segments.size() * per_segment < words()) {
    const absl::StatusOr<SegmentId> segment = space_.TakeMetaSegment(claim);
    if (!segment.ok()) {
      for (const SegmentId taken : segments) core_.segments.ReleaseMeta(taken);
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
  if (core_.journal != nullptr && !clean) {
    LATCHKEY_RETURN_IF_ERROR(CheckpointInto(std::move(segments), client_root, clean));
    core_.AdvanceDurableTicket(accepted);
    return absl::OkStatus();
  }
  // From here on nothing moves pages, and nothing waits for anything that a mover would bring.
  MutexLock no_pass(cleaner_.pass_mutex());
  LATCHKEY_RETURN_IF_ERROR(CheckpointInto(std::move(segments), client_root, clean));
  core_.AdvanceDurableTicket(accepted);
  if (clean) {
    space_.TrimDevice();
    cleaner_.set_idle(true);
    marked_unclean_.store(false, std::memory_order_release);
  }
  return absl::OkStatus();
}

// In the cleaner's actor, so nothing may be waited for that only the cleaner brings.
void SegmentStoreImpl::CheckpointMapIfWanted() {
  if (core_.journal == nullptr || core_.poisoned() ||
      !core_.journal->WantsCheckpoint(core_.map.limit()) || !checkpoint_mutex_.TryLock()) {
    return;
  }
  // Without memory or free segments the journal grows on until there are some.
  CatchOutOfMemory([this] { return CheckpointMap(); }).IgnoreError();
  checkpoint_mutex_.Unlock();
}

absl::Status SegmentStoreImpl::CheckpointMap() {
  if (!marked_unclean_.load(std::memory_order_relaxed)) return absl::OkStatus();
  const std::vector<std::byte> root = superblock_.client_root;
  // What a full journal keeps from coming free is worth the last segments.
  const MetaClaim claim = core_.journal->full() ? MetaClaim::kLast : MetaClaim::kSpare;
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<SegmentId> segments, TakeCheckpointSegments(claim));
  return CheckpointInto(std::move(segments), root, /*clean=*/false);
}

absl::Status SegmentStoreImpl::CheckpointInto(std::vector<SegmentId> segments,
                                              std::span<const std::byte> client_root, bool clean) {
  Superblock next;
  // A clean map is complete by itself; one that takes the place of a round, too.
  const bool is_round = core_.journal != nullptr && (clean || core_.journal->full());
  const auto commit = [&] { return CaptureAndCommit(segments, next, is_round); };
  const absl::Status status = CatchOutOfMemory([&] {
    next = superblock_;
    next.generation += 1;
    next.clean = clean;
    next.client_root.assign(client_root.begin(), client_root.end());
    return is_round ? core_.CommitRoundBy(commit) : commit();
  });
  if (!status.ok()) {
    core_.Poison(status);
    return core_.WriteStatus();
  }
  for (const SegmentId old : checkpoint_segments_) core_.segments.ReleaseMeta(old);
  checkpoint_segments_ = std::move(segments);
  superblock_ = std::move(next);
  if (core_.journal != nullptr) core_.journal->Truncate(Lsn{superblock_.journal_start});
  return absl::OkStatus();
}

// With a journal writers go on meanwhile, and the words captured may be of any time from here on:
// the replay from the position noted first brings every page to its newest word.
absl::Status SegmentStoreImpl::CaptureAndCommit(const std::vector<SegmentId>& segments,
                                                Superblock& next, bool is_round) {
  if (core_.journal != nullptr) next.journal_start = Raw(core_.journal->Position());
  LATCHKEY_RETURN_IF_ERROR(WriteMapAndTable(next.generation, segments, next));
  if (!LATCHKEY_CANARY("superblock-before-what-it-names")) {
    LATCHKEY_RETURN_IF_ERROR(SyncCaptured(is_round));
  }
  return CommitSuperblock(next);
}

// With a journal, a round brings what was captured on to where the replay ends. Without room for it
// the replay ends earlier: the slots that it leads to wait for that round, and are owned until
// then.
absl::Status SegmentStoreImpl::SyncCaptured(bool is_round) {
  if (core_.journal == nullptr || is_round) return device_->Sync();
  const absl::Status round = core_.CommitRound();
  return IsJournalFull(round) ? device_->Sync() : round;
}

absl::Status SegmentStoreImpl::CommitSuperblock(Superblock& next) {
  next.log_reach = Raw(core_.LogReach());
  LATCHKEY_RETURN_IF_ERROR(WriteSuperblock(*device_, next, [this] {
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

PageWord SegmentStoreImpl::DurableWord(PageId id) const {
  for (;;) {
    const PageWord word = core_.map.Load(id);
    if (!word.in_memory()) {
      return word.on_device() ? word : PageWord::Free(word.sequence());
    }
    const PageWord durable(core_.frames.Frame(word.frame()).durable_word.load());
    if (core_.map.Load(id) != word) continue;
    return durable.on_device() ? durable : PageWord::Free(durable.sequence());
  }
}

SegmentEntry SegmentStoreImpl::EntryOf(SegmentId segment, const std::vector<SegmentId>& own) const {
  SegmentEntry entry{SegmentState::kFree, core_.segments.KindOf(segment),
                     core_.segments.BirthOf(segment)};
  switch (core_.segments.StateOf(segment)) {
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

absl::Status SegmentStoreImpl::WriteMapAndTable(uint64_t generation,
                                                const std::vector<SegmentId>& segments,
                                                Superblock& next) {
  CheckpointWriter out(core_, generation, segments);
  const uint64_t limit = core_.map.limit();
  for (uint64_t id = 0; id < limit; ++id) {
    LATCHKEY_RETURN_IF_ERROR(out.Put(DurableWord(PageId{id}).bits()));
  }
  // After the map, so that every slot it names lies in a segment of the table.
  const uint32_t total = core_.segments.total();
  for (uint32_t s = 0; s < total; ++s) {
    LATCHKEY_RETURN_IF_ERROR(out.Put(EntryOf(SegmentId{s}, segments).Encode()));
  }
  LATCHKEY_RETURN_IF_ERROR(out.Finish());
  core_.counters.meta_bytes_written.fetch_add(out.bytes_written() + 2 * kSuperblockSize,
                                              std::memory_order_relaxed);
  next.page_id_limit = limit;
  next.segments = total;
  next.checkpoint_segment = Raw(segments.front());
  next.checkpoint_generation = generation;
  next.checkpoint_bytes = 8 * (limit + total);
  next.space_utilization = options_.space_utilization;
  next.layout = options_.layout;
  next.clock = accepted_ticket();
  return absl::OkStatus();
}

}  // namespace latchkey
