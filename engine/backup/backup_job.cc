#include "engine/backup/backup_job.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/backup/backup_check.h"
#include "storage/base/canary.h"
#include "storage/base/counted_noun.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"

namespace latchkey {

namespace {

// Rounds of copying pages of loads while other loads end. The last round makes loads wait.
constexpr int kRoundsBesideLoads = 4;
// How long a backup leaves the device to users, as a multiple of the time that it used it.
constexpr Nanos kPausesPerPiece = 5;

}  // namespace

struct BackupJob::Batch {
  Batch(uint32_t page_size, uint64_t batch_bytes)
      : bytes(page_size),
        memory(std::max<uint64_t>(page_size, batch_bytes / page_size * page_size)) {}
  bool full() const { return reads.size() * bytes == memory.size(); }
  void Add(PageId page) {
    reads.push_back({.id = page, .out = memory.data() + reads.size() * bytes, .status = {}});
  }

  const uint32_t bytes;  // of a page
  AlignedBuffer memory;
  std::vector<PageRead> reads;
};

absl::Status BackupJob::GoOn() {
  if (!options_.progress || options_.progress(progress_)) return absl::OkStatus();
  return absl::CancelledError(
      "the backup was interrupted and does not count: the same backup again continues it");
}

absl::StatusOr<BackupInfo> BackupJob::Run(const std::string& path) {
  LATCHKEY_ASSIGN_OR_RETURN(BackupDirectory directory,
                            BackupDirectory::OpenToWrite(source_.runtime, path));
  directory_ = std::make_unique<BackupDirectory>(std::move(directory));
  LATCHKEY_RETURN_IF_ERROR(CheckSeries());
  LATCHKEY_RETURN_IF_ERROR(directory_->begun() ? Resume() : absl::OkStatus());
  if (!directory_->begun()) LATCHKEY_RETURN_IF_ERROR(BeginNew());
  // Every known image was looked at, or looked at again, since then.
  const uint64_t since =
      directory_->finished().empty() ? manifest_.clock : directory_->finished().back().clock;
  const uint64_t now = source_.store.accepted_ticket();
  trusts_known_ = now >= since && now - since < source_.sizing.writes_of_one_round;
  LATCHKEY_RETURN_IF_ERROR(GoOn());
  source_.loads.StartNoting();
  LATCHKEY_ASSIGN_OR_RETURN(manifest_.root, source_.checkpointer.RunAndHoldLog());
  LATCHKEY_ASSIGN_OR_RETURN(
      log_copier_,
      LogCopier::Create(source_.runtime,
                        directory_->PathOf(directory_->LogFileName(manifest_.number)),
                        HeaderOf(manifest_, BackupFileHeader::Kind::kLog, 1), source_.log.log(),
                        source_.checkpointer, manifest_.root.scan_from));
  seen_log_ = source_.log.log().durable();
  piece_begin_ = source_.runtime.Now();
  LATCHKEY_RETURN_IF_ERROR(CopyPages());
  LATCHKEY_RETURN_IF_ERROR(CopyLoads());
  LATCHKEY_RETURN_IF_ERROR(Finish());
  return manifest_.Info();
}

absl::Status BackupJob::CheckSeries() {
  const std::vector<BackupManifest>& finished = directory_->finished();
  if (!options_.incremental) {
    if (finished.empty()) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      "the directory holds {}: make an incremental one, or name another directory",
                      CountOf(finished.size(), "finished backup"));
  }
  if (finished.empty()) {
    return absl::FailedPreconditionError(
        "the directory holds no finished backup that an incremental one could build on: make a "
        "full "
        "one first");
  }
  if (finished.back().database_id != source_.database_id) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the backups are those of database {:016x}, and this is {:016x}: make a full "
                      "backup in another directory",
                      finished.back().database_id, source_.database_id);
  }
  const auto note = source_.checkpointer.FindBackup(finished.back().id);
  if (note && note->finished) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the database does not know backup {} of the directory: it was put back to an "
                    "older state, or more than {} backups were made since; make a full backup in "
                    "another directory",
                    finished.back().number, ClientRoot::kMostBackups);
}

absl::Status BackupJob::LoadKnown() {
  known_ = KnownPages();
  for (const BackupManifest& backup : directory_->finished()) {
    for (uint32_t file = 1; file <= backup.page_files.size(); ++file) {
      LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageFileReader> reader,
                                OpenPageFile(source_.runtime, *directory_, backup, file));
      known_.Add(reader->entries());
    }
  }
  return absl::OkStatus();
}

// Goes on behind the page files that the database remembers: it has made the writes of their pages
// durable, so equal sequences mean equal contents, also after a crash.
absl::Status BackupJob::Resume() {
  manifest_ = *directory_->begun();
  if (!options_.incremental && manifest_.database_id != source_.database_id) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the directory holds an unfinished backup of database {:016x}, and this is "
                      "{:016x}: name another directory",
                      manifest_.database_id, source_.database_id);
  }
  const auto note = source_.checkpointer.FindBackup(manifest_.id);
  const uint64_t parent = directory_->finished().empty() ? 0 : directory_->finished().back().id;
  if (!note || manifest_.parent_id != parent || manifest_.page_size != source_.store.page_size()) {
    return directory_->RemoveBegun();
  }
  LATCHKEY_RETURN_IF_ERROR(directory_->RemoveFilesBehind(manifest_, note->page_files));
  LATCHKEY_RETURN_IF_ERROR(LoadKnown());
  for (uint32_t file = 1; file <= note->page_files; ++file) {
    const auto reader = OpenPageFile(source_.runtime, *directory_, manifest_, file);
    if (!reader.ok()) return directory_->RemoveBegun();
    known_.Add((*reader)->entries());
    manifest_.resumed_pages += (*reader)->images();
    uint64_t hash = 0;
    const auto ignore = [](const BackupPageEntry&, std::span<const std::byte>) {
      return absl::OkStatus();
    };
    if (!(*reader)->ForEachImage(ignore, &hash).ok()) return directory_->RemoveBegun();
    manifest_.page_files.push_back(
        {directory_->PageFileName(manifest_.number, file), (*reader)->bytes(), hash});
  }
  manifest_.pages = manifest_.resumed_pages;
  return absl::OkStatus();
}

absl::Status BackupJob::BeginNew() {
  LATCHKEY_RETURN_IF_ERROR(LoadKnown());
  const std::vector<BackupManifest>& finished = directory_->finished();
  manifest_ = {};
  manifest_.number = static_cast<uint32_t>(finished.size()) + 1;
  manifest_.id = MixHash(source_.database_id ^
                         MixHash(static_cast<uint64_t>(source_.runtime.WallClockSeconds()) ^
                                 MixHash(source_.runtime.Now())));
  manifest_.parent_id = finished.empty() ? 0 : finished.back().id;
  manifest_.database_id = source_.database_id;
  manifest_.page_size = source_.store.page_size();
  manifest_.clock = source_.store.accepted_ticket();
  return directory_->Begin(manifest_);
}

absl::Status BackupJob::CopyPages() {
  Batch batch(manifest_.page_size, source_.sizing.batch_bytes);
  progress_.phase = BackupPhase::kPages;
  const uint64_t ids = source_.store.page_id_limit();
  manifest_.page_ids = std::max(ids, known_.limit());
  progress_.total = manifest_.page_ids;
  for (uint64_t id = 0; id < manifest_.page_ids; ++id) {
    const PageId page{id};
    const uint32_t known = known_.SequenceOf(page);
    const uint32_t now = id < ids ? source_.store.WriteSequence(page) : 0;
    progress_.done = id;
    if (now == 0 && known != 0) LATCHKEY_RETURN_IF_ERROR(NoteGone(page));
    const bool passed_over =
        LATCHKEY_CANARY("backup-passes-over-a-page") && known != 0 && id % 4 == 0;
    if (now == 0 || (now == known && trusts_known_) || passed_over) {
      if (id % 65536 == 0) {
        LATCHKEY_RETURN_IF_ERROR(log_copier_->CopyDurable());
        LATCHKEY_RETURN_IF_ERROR(GoOn());
      }
      continue;
    }
    batch.Add(page);
    if (batch.full()) LATCHKEY_RETURN_IF_ERROR(CopyBatch(batch));
  }
  return CopyBatch(batch);
}

// The pages of a bulk load are not in the log, only its end is. Loads that end from here on are left
// to Finish.
absl::Status BackupJob::CopyLoads() {
  for (int round = 0; round < kRoundsBesideLoads; ++round) {
    BulkLoads::Runs runs = source_.loads.TakeNoted();
    if (runs.empty()) break;
    LATCHKEY_RETURN_IF_ERROR(CopyRuns(std::move(runs)));
  }
  return absl::OkStatus();
}

absl::Status BackupJob::CopyRuns(BulkLoads::Runs runs) {
  if (runs.empty() || LATCHKEY_CANARY("backup-forgets-bulk-loads")) return absl::OkStatus();
  copies_loads_ = true;
  // Of two images the one in the later file counts.
  if (file_ != nullptr) LATCHKEY_RETURN_IF_ERROR(SealFile(/*finished=*/false));
  std::ranges::sort(runs, {}, &BulkPages::Run::first);
  Batch batch(manifest_.page_size, source_.sizing.batch_bytes);
  uint64_t next = 0;  // an id is in two runs if the tree of the first was dropped
  for (const BulkPages::Run& run : runs) {
    const uint64_t end = run.first + run.count;
    progress_.total += run.count;
    for (next = std::max(next, run.first); next < end; ++next) {
      ++progress_.done;
      batch.Add(PageId{next});
      if (batch.full()) LATCHKEY_RETURN_IF_ERROR(CopyBatch(batch));
    }
  }
  manifest_.page_ids = std::max(manifest_.page_ids, next);
  return CopyBatch(batch);
}

absl::Status BackupJob::CopyBatch(Batch& batch) {
  source_.store.ReadPages(batch.reads);
  for (const PageRead& read : batch.reads) {
    // Freed since the look at it, or again without content: what it holds later is in the log.
    if (absl::IsNotFound(read.status) || absl::IsInvalidArgument(read.status)) {
      if (known_.SequenceOf(read.id) != 0) LATCHKEY_RETURN_IF_ERROR(NoteGone(read.id));
      continue;
    }
    if (!read.status.ok()) {
      return MakeStatus(read.status.code(), "page {} cannot be copied: {}", Raw(read.id),
                        std::string(read.status.message()));
    }
    LATCHKEY_RETURN_IF_ERROR(EnsureFile());
    LATCHKEY_RETURN_IF_ERROR(file_->Add({read.out, batch.bytes}));
  }
  const uint64_t bytes = batch.reads.size() * batch.bytes;
  batch.reads.clear();
  progress_.bytes += bytes;
  LATCHKEY_RETURN_IF_ERROR(log_copier_->CopyDurable());
  if (file_ != nullptr && file_->bytes() >= source_.sizing.page_file_bytes) {
    LATCHKEY_RETURN_IF_ERROR(SealFile(/*finished=*/false));
  }
  LATCHKEY_RETURN_IF_ERROR(GoOn());
  return Wait(bytes);
}

absl::Status BackupJob::Wait(uint64_t bytes) {
  const auto go_on = [this]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    return log_copier_->CopyDurable();
  };
  return options_.max_bytes_per_second != 0 ? pace_.Spend(bytes, go_on) : GiveWay(go_on);
}

// Without a limit: a commit's sync waits for what the backup has handed to the device. So if
// transactions were logged since the last piece, most of the time is left to them. Not while pages of
// loads are copied: more loads than before would end in a pause, and each round would be longer.
absl::Status BackupJob::GiveWay(absl::FunctionRef<absl::Status()> go_on) {
  const Nanos took = source_.runtime.Now() - piece_begin_;
  absl::Status waited;
  if (source_.log.log().durable() != seen_log_ && !copies_loads_) {
    waited = pace_.Pause(kPausesPerPiece * took, go_on);
  }
  seen_log_ = source_.log.log().durable();
  piece_begin_ = source_.runtime.Now();
  return waited;
}

absl::Status BackupJob::NoteGone(PageId page) {
  LATCHKEY_RETURN_IF_ERROR(EnsureFile());
  file_->AddGone(page);
  return absl::OkStatus();
}

absl::Status BackupJob::EnsureFile() {
  if (file_ != nullptr) return absl::OkStatus();
  const auto number = static_cast<uint32_t>(manifest_.page_files.size()) + 1;
  const std::string name = directory_->PageFileName(manifest_.number, number);
  LATCHKEY_ASSIGN_OR_RETURN(
      file_, PageFileWriter::Create(source_.runtime, directory_->PathOf(name),
                                    HeaderOf(manifest_, BackupFileHeader::Kind::kPages, number)));
  return absl::OkStatus();
}

absl::Status BackupJob::SealFile(bool finished) {
  if (file_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(file_->Seal());
    const auto number = static_cast<uint32_t>(manifest_.page_files.size()) + 1;
    manifest_.pages += file_->images();
    manifest_.page_files.push_back(
        file_->Describe(directory_->PageFileName(manifest_.number, number)));
    file_.reset();
  }
  return source_.checkpointer.NoteBackup(
      {.id = manifest_.id,
       .page_files = static_cast<uint32_t>(manifest_.page_files.size()),
       .finished = finished});
}

// The log is copied to a point behind every change in the copied pages. REQUIRES: within TakeLast.
absl::Status BackupJob::CopyEnd(const BulkLoads::Runs& runs) {
  LATCHKEY_RETURN_IF_ERROR(CopyRuns(runs));
  progress_.phase = BackupPhase::kLog;
  progress_.done = progress_.total = 0;
  LATCHKEY_RETURN_IF_ERROR(GoOn());
  LATCHKEY_RETURN_IF_ERROR(source_.log.FlushAll());
  return log_copier_->CopyDurable();
}

absl::Status BackupJob::Finish() {
  LATCHKEY_RETURN_IF_ERROR(
      source_.loads.TakeLast([this](const BulkLoads::Runs& runs) { return CopyEnd(runs); }));
  LATCHKEY_RETURN_IF_ERROR(log_copier_->Finish());
  source_.checkpointer.ReleaseLog();
  manifest_.log_file = log_copier_->Describe(directory_->LogFileName(manifest_.number));
  manifest_.log_shape = source_.log.log().shape();
  manifest_.root.end = log_copier_->position();
  log_copier_.reset();  // closes the file, which the check opens
  manifest_.root.backups.clear();
  LATCHKEY_RETURN_IF_ERROR(SealFile(/*finished=*/true));
  if (options_.check) LATCHKEY_RETURN_IF_ERROR(Check());
  return directory_->Publish(manifest_);
}

absl::Status BackupJob::Check() {
  copies_loads_ = false;
  progress_ = {.phase = BackupPhase::kCheck};
  piece_begin_ = source_.runtime.Now();
  const auto go_on = [this] { return GoOn(); };
  return CheckBackupFiles(source_.runtime, *directory_, manifest_, [&](uint64_t bytes) {
    progress_.done = progress_.bytes += bytes;
    const absl::Status status = GoOn();
    return status.ok() && options_.max_bytes_per_second == 0 ? GiveWay(go_on) : status;
  });
}

}  // namespace latchkey
