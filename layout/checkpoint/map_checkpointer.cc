#include "layout/checkpoint/map_checkpointer.h"

#include <algorithm>
#include <utility>

#include "layout/checkpoint/restorer.h"
#include "layout/map/write_again.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Segments that may be added while a checkpoint is being written: its table has room for so many.
constexpr uint32_t kTableSlack = 4096;

}  // namespace

MapCheckpointer::MapCheckpointer(PageDirectory& directory, SpaceManager& space,
                                 const Superblock& superblock, std::unique_ptr<BlockDevice> journal,
                                 Options options)
    : directory_(directory),
      core_(directory.core()),
      space_(space),
      options_(std::move(options)),
      journal_device_(std::move(journal)),
      journal_memory_bytes_(journal_device_ == nullptr
                                ? 0
                                : MapJournal::MemoryFor(options_.journal, *journal_device_)),
      mutex_(core_.runtime),
      superblock_(superblock) {}

absl::Status MapCheckpointer::Format() {
  LATCHKEY_RETURN_IF_ERROR(space_.GrowToTarget());
  space_.TrimDevice();  // the measurements took more
  MutexLock lock(mutex_);
  Superblock first = superblock_;
  first.generation = 1;
  first.clean = true;
  first.segments = directory_.segments().total();
  first.checkpoint_segment = kNoSegment;
  LATCHKEY_RETURN_IF_ERROR(WriteSuperblock(core_.device, first));
  superblock_ = first;
  core_.generation.store(first.generation, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status MapCheckpointer::Restore() {
  std::unique_ptr<BlockDevice> journal;
  if (!superblock_.clean) journal = std::move(journal_device_);
  LATCHKEY_ASSIGN_OR_RETURN(
      segments_, RestoreDirectory(superblock_, std::move(journal), options_.journal, directory_));
  usable_journal_.store(directory_.journal(), std::memory_order_release);
  return absl::OkStatus();
}

uint64_t MapCheckpointer::journal_bytes_written() const {
  const MapJournal* const journal = usable_journal_.load(std::memory_order_acquire);
  return journal == nullptr ? 0 : journal->bytes_written();
}

absl::Status MapCheckpointer::Sync() {
  const absl::Status synced = core_.device.Sync();
  if (synced.ok()) return synced;
  core_.Poison(synced);
  return core_.WriteStatus();
}

absl::Status MapCheckpointer::MakeDurable() {
  if (directory_.journal() == nullptr) return Sync();
  const absl::Status status = directory_.RunRound();
  if (!IsJournalFull(status)) return status;
  MutexLock lock(mutex_);
  return MakeDurableLocked();
}

// Runs in the cleaner's actor too. The holder of the mutex may be waiting for the cleaner, so this
// only tries to lock it.
absl::Status MapCheckpointer::TryMakeDurable() {
  absl::Status status = directory_.RunRound();
  if (!IsJournalFull(status) || !mutex_.TryLock()) return status;
  status = CatchOutOfMemory([this]() LATCHKEY_REQUIRES(mutex_) { return MakeDurableLocked(); });
  mutex_.Unlock();
  return status;
}

absl::Status MapCheckpointer::MakeDurableLocked() {
  const absl::Status status = directory_.RunRound();  // a checkpoint may have made room meanwhile
  return IsJournalFull(status) ? Renew() : status;
}

absl::Status MapCheckpointer::OpenNewJournal() {
  MapJournalOptions options = options_.journal;
  options.page_ids = directory_.map().limit();
  LATCHKEY_RETURN_IF_ERROR(MapJournal::MakeRoom(*journal_device_, options));
  directory_.SetJournal(MapJournal::New(core_.runtime, std::move(journal_device_), options));
  return absl::OkStatus();
}

absl::Status MapCheckpointer::BecomeUnclean() {
  MutexLock lock(mutex_);
  if (is_unclean_.load(std::memory_order_relaxed)) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  absl::Status status = CatchOutOfMemory([this]() -> absl::Status {
    if (journal_device_ == nullptr || directory_.journal() != nullptr) return absl::OkStatus();
    return OpenNewJournal();
  });
  if (absl::IsResourceExhausted(status) && !IsOutOfMemory(status)) {
    return status;  // nothing has changed
  }
  if (status.ok()) {
    status = CatchOutOfMemory([this]() LATCHKEY_REQUIRES(mutex_) { return MarkUnclean(); });
  }
  if (status.ok()) {
    status = CatchOutOfMemory([this]() LATCHKEY_REQUIRES(mutex_) { return StartWork(); });
  }
  if (!status.ok()) {
    core_.Poison(status);
    return core_.WriteStatus();
  }
  is_unclean_.store(true, std::memory_order_release);
  space_.Signal();  // the wanted utilisation may have changed since: the file grows or shrinks
  return absl::OkStatus();
}

absl::Status MapCheckpointer::StartWork() {
  if (!started_ && cleaner_ != nullptr) LATCHKEY_RETURN_IF_ERROR(cleaner_->Start());
  started_ = true;
  return absl::OkStatus();
}

absl::Status MapCheckpointer::MarkUnclean() {
  Superblock next = superblock_;
  next.generation += 1;
  next.clean = false;
  next.crash_safe = directory_.journal() != nullptr;
  next.doublewrite_pages = options_.doublewrite_pages;
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
  LATCHKEY_RETURN_IF_ERROR(Publish(next));
  superblock_ = std::move(next);
  return absl::OkStatus();
}

bool MapCheckpointer::HasClean(std::span<const std::byte> client_root) {
  MutexLock lock(mutex_);
  return superblock_.clean && std::ranges::equal(client_root, superblock_.client_root);
}

absl::StatusOr<std::vector<SegmentId>> MapCheckpointer::TakeSegments(MetaClaim claim) {
  // Ids that are handed out while the words are captured take more bytes than counted here.
  const auto bytes = [&] {
    const PageMap& map = directory_.map();
    const uint64_t counted = map.checkpoint_bytes(), most = 8 * map.limit();
    return counted + std::min(counted / 16, most - std::min(most, counted)) +
           8 * uint64_t{directory_.segments().total() + kTableSlack};
  };
  const uint64_t per_segment = CheckpointWriter::BytesPerSegment(core_.geometry);
  std::vector<SegmentId> segments;
  const OnException give_back([&] {
    for (const SegmentId taken : segments) directory_.ReleaseMeta(taken);
  });
  segments.reserve(bytes() / per_segment + 8);
  while (segments.size() * per_segment < bytes()) {
    const absl::StatusOr<SegmentId> segment = space_.TakeMetaSegment(claim);
    if (!segment.ok()) {
      for (const SegmentId taken : segments) directory_.ReleaseMeta(taken);
      return segment.status();
    }
    segments.push_back(*segment);
  }
  return segments;
}

// A round that does not fit into the journal is left to the checkpoint that follows.
absl::Status MapCheckpointer::WriteOutFirst(absl::FunctionRef<absl::Status()> write_out) {
  if (!is_unclean()) return core_.WriteStatus();
  LATCHKEY_RETURN_IF_ERROR(write_out());
  if (directory_.journal() == nullptr) return Sync();
  const absl::Status round = directory_.RunRound();
  return IsJournalFull(round) ? absl::OkStatus() : round;
}

absl::Status MapCheckpointer::Checkpoint(std::span<const std::byte> client_root, bool clean,
                                         absl::FunctionRef<absl::Status()> write_out) {
  MutexLock lock(mutex_);
  const WriteTicket accepted = directory_.accepted_ticket();
  LATCHKEY_RETURN_IF_ERROR(WriteOutFirst(write_out));
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<SegmentId> segments, TakeSegments(MetaClaim::kWaits));
  if (directory_.journal() != nullptr && !clean) {
    LATCHKEY_RETURN_IF_ERROR(WriteInto(std::move(segments), client_root, clean));
    directory_.AdvanceDurableTicket(accepted);
    return absl::OkStatus();
  }
  // The segment cleaner is stopped from here on, and nothing below waits for it.
  MutexLock no_pass(cleaner_->pass_mutex());
  LATCHKEY_RETURN_IF_ERROR(WriteInto(std::move(segments), client_root, clean));
  directory_.AdvanceDurableTicket(accepted);
  if (clean) {
    space_.TrimDevice();
    is_unclean_.store(false, std::memory_order_release);
  }
  return absl::OkStatus();
}

// Runs in the cleaner's actor, so it must not wait for anything that only the cleaner provides.
void MapCheckpointer::CheckpointIfWanted() {
  if (directory_.journal() == nullptr || core_.poisoned() ||
      !directory_.journal()->WantsCheckpoint(directory_.map().limit()) || !mutex_.TryLock()) {
    return;
  }
  // Without memory or free segments the journal grows further; a later call tries again.
  CatchOutOfMemory([this]() LATCHKEY_REQUIRES(mutex_) { return Renew(); }).IgnoreError();
  mutex_.Unlock();
}

absl::Status MapCheckpointer::Renew() {
  if (!is_unclean_.load(std::memory_order_relaxed)) return absl::OkStatus();
  const std::vector<std::byte> root = superblock_.client_root;
  // A full journal keeps superseded slots from being released, so the checkpoint may take the last
  // free segments.
  const MetaClaim claim = directory_.journal()->full() ? MetaClaim::kLast : MetaClaim::kSpare;
  LATCHKEY_ASSIGN_OR_RETURN(std::vector<SegmentId> segments, TakeSegments(claim));
  return WriteInto(std::move(segments), root, /*clean=*/false);
}

absl::Status MapCheckpointer::WriteInto(std::vector<SegmentId> segments,
                                        std::span<const std::byte> client_root, bool clean) {
  Superblock next;
  // A clean checkpoint needs no journal, so it contains the round. So does one for a full journal.
  const bool is_round = directory_.journal() != nullptr && (clean || directory_.journal()->full());
  const auto commit = [&]() LATCHKEY_REQUIRES(mutex_) {
    return CaptureAndPublish(segments, next, is_round);
  };
  const absl::Status status = CatchOutOfMemory([&]() LATCHKEY_REQUIRES(mutex_) {
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
  for (const SegmentId old : segments_) directory_.ReleaseMeta(old);
  segments_ = std::move(segments);
  superblock_ = std::move(next);
  if (directory_.journal() == nullptr) return absl::OkStatus();
  directory_.journal()->Truncate(Lsn{superblock_.journal_start});
  if (clean) {
    directory_.GiveUpJournal();
  } else {
    directory_.journal()->ShrinkToUse();
  }
  return absl::OkStatus();
}

// With a journal writers go on while the words are captured. The journal position is noted before
// that, so the replay from there brings every page to its newest word.
absl::Status MapCheckpointer::CaptureAndPublish(std::vector<SegmentId>& segments, Superblock& next,
                                                bool is_round) {
  if (directory_.journal() != nullptr) next.journal_start = Raw(directory_.journal()->Position());
  LATCHKEY_RETURN_IF_ERROR(WriteMapAndTable(segments, next));
  if (directory_.journal() != nullptr && LATCHKEY_CANARY("journal-position-after-the-map")) {
    next.journal_start = Raw(directory_.journal()->Position());
  }
  if (!LATCHKEY_CANARY("superblock-before-what-it-names")) {
    LATCHKEY_RETURN_IF_ERROR(SyncCaptured(is_round));
  }
  return Publish(next);
}

// With a journal, a round after the capture makes all captured changes durable in the journal. If
// the journal has no room for that round, the replay ends earlier. That is safe, because the slots
// that the replay then names stay owned until the round is done.
absl::Status MapCheckpointer::SyncCaptured(bool is_round) {
  if (directory_.journal() == nullptr || is_round) return core_.device.Sync();
  const absl::Status round = directory_.RunRound();
  return IsJournalFull(round) ? core_.device.Sync() : round;
}

absl::Status MapCheckpointer::Publish(Superblock& next) {
  next.log_reach = Raw(core_.LogReach());
  LATCHKEY_RETURN_IF_ERROR(WriteSuperblock(core_.device, next, [this] {
    const absl::Status writable = core_.WriteStatus();
    if (!writable.ok()) return writable;
    return core_.client.Ask(absl::OkStatus(),
                            [](PageStoreClient& client) { return client.MayPublishCheckpoint(); });
  }));
  core_.generation.store(next.generation, std::memory_order_release);
  return absl::OkStatus();
}

SegmentEntry MapCheckpointer::EntryOf(SegmentId segment, const std::vector<SegmentId>& own) const {
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

absl::Status MapCheckpointer::WriteMap(CheckpointWriter& out, const Superblock& next) {
  for (uint64_t id = 0; id < next.page_id_limit; ++id) {
    const LocationWord word = directory_.DurableWord(PageId{id});
    if (!next.short_free_words) {
      LATCHKEY_RETURN_IF_ERROR(out.Put(word.bits()));
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(out.PutShort(word.upper_half()));
    if (word.free()) continue;
    LATCHKEY_RETURN_IF_ERROR(out.PutShort(static_cast<uint32_t>(word.bits())));
  }
  return absl::OkStatus();
}

absl::Status MapCheckpointer::WriteWords(CheckpointWriter& out, Superblock& next,
                                         const std::vector<SegmentId>& segments) {
  LATCHKEY_RETURN_IF_ERROR(WriteMap(out, next));
  // The table is written after the map, so it has the segment of every slot that the map names.
  next.segments = directory_.segments().total();
  for (uint32_t s = 0; s < next.segments; ++s) {
    LATCHKEY_RETURN_IF_ERROR(out.Put(EntryOf(SegmentId{s}, segments).Encode()));
  }
  next.checkpoint_bytes = out.payload_bytes();
  return out.Finish();
}

absl::Status MapCheckpointer::WriteMapAndTable(std::vector<SegmentId>& segments, Superblock& next) {
  next.page_id_limit = directory_.map().limit();
  next.short_free_words = directory_.map().allocated() < next.page_id_limit;
  // A young file has no free segment beside this checkpoint and the one before: it grows.
  const auto take = [&] { return space_.TakeMetaSegment(MetaClaim::kLast); };
  for (;;) {
    CheckpointWriter out(core_, next.generation, segments);
    const absl::Status written = WriteWords(out, next, segments);
    core_.counters.meta_bytes_written.fetch_add(out.bytes_written() + 2 * kSuperblockSize,
                                                std::memory_order_relaxed);
    if (written.ok()) break;
    // A segment of the chain names the next one, so all of the chain is written again.
    if (out.is_chain_full()) {
      // More pages were allocated and written since the chain was taken. It grows by a sixteenth, so
      // that few attempts find room for any number of them.
      const size_t wanted = segments.size() + segments.size() / 16 + 1;
      while (segments.size() < wanted) {
        LATCHKEY_ASSIGN_OR_RETURN(const SegmentId more, take());
        segments.push_back(more);
      }
    } else if (!ReplaceCheckpointSegment(directory_, segments[out.segment_index()], take,
                                         written)) {
      return written;
    }
  }
  next.checkpoint_segment = Raw(segments.front());
  next.checkpoint_generation = next.generation;
  next.space_utilization = options_.space_utilization;
  next.layout = options_.layout;
  if (options_.costs != nullptr) next.costs = options_.costs->costs();
  next.clock = directory_.accepted_ticket();
  return absl::OkStatus();
}

}  // namespace latchkey
