#include "tools/cli/db_transfer.h"

#include <cstring>
#include <memory>
#include <utility>

#include "storage/base/status_macros.h"
#include "tools/cli/progress.h"

namespace latchkey {
namespace {

constexpr char kProgressKey[] = "progress";

constexpr char kDumpStopped[] = "interrupted: the dump is not complete; run dump again";
constexpr char kCheckStopped[] =
    "interrupted while the dump was checked: nothing was loaded; run load again";
constexpr char kLoadStopped[] =
    "interrupted: a part of the dump is loaded; load --resume continues with the same dump";

/// Cancelled with `stopped` once a stop is requested.
absl::Status CheckStop(const TransferHooks& hooks, const char* stopped) {
  if (hooks.stop == nullptr || !hooks.stop->load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return absl::CancelledError(stopped);
}

absl::Status Report(const TransferHooks& hooks, uint64_t amount, const char* stopped) {
  if (hooks.progress) hooks.progress(amount);
  return CheckStop(hooks, stopped);
}

// A source may notice the stop first. It does not know what the stop means.
absl::StatusOr<DumpSummary> AsStopped(absl::StatusOr<DumpSummary> read, const char* stopped) {
  if (!absl::IsCancelled(read.status())) return read;
  return absl::CancelledError(stopped);
}

absl::Status DumpTree(Database& db, Transaction& transaction, const std::string& name,
                      DumpWriter& writer, const TransferHooks& hooks) {
  LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, db.OpenTree(name, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(writer.Tree(name));
  Cursor cursor = transaction.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    LATCHKEY_RETURN_IF_ERROR(writer.Record(cursor.key(), cursor.value()));
    if (writer.summary().records % kRecordsBetweenProgress == 0) {
      LATCHKEY_RETURN_IF_ERROR(Report(hooks, writer.summary().records, kDumpStopped));
    }
  }
  return cursor.status();
}

class Ignore final : public DumpVisitor {
 public:
  absl::Status OnTree(std::string_view name) override {
    if (name != kLoadTree) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the dump holds a tree \"{}\", a name that loads keep for themselves: rename "
                      "it in a text dump, with - in place of the digests",
                      kLoadTree);
  }
  absl::Status OnRecord(std::string_view, std::string_view) override { return absl::OkStatus(); }
};

std::string Encode(const LoadProgress& progress) {
  return {reinterpret_cast<const char*>(&progress), sizeof(progress)};
}

/// Puts records into their trees, batch by batch, after the first `skip` records.
class Applier final : public DumpVisitor {
 public:
  Applier(Database& db, Tree marker, LoadProgress progress, const LoadOptions& options,
          const TransferHooks& hooks)
      : db_(db), marker_(marker), progress_(progress), options_(options), hooks_(hooks) {
    skip_ = progress.records;
  }

  absl::Status OnTree(std::string_view name) override {
    LATCHKEY_ASSIGN_OR_RETURN(tree_, db_.OpenTree(name));
    return absl::OkStatus();
  }
  absl::Status OnRecord(std::string_view key, std::string_view value) override {
    if (seen_++ < skip_) return absl::OkStatus();
    batch_.Put(tree_, key, value);
    batch_bytes_ += key.size() + value.size();
    constexpr size_t kMostRecords = 4096;
    const bool full = batch_bytes_ >= options_.batch_bytes || batch_.size() >= kMostRecords;
    return full ? Flush() : absl::OkStatus();
  }
  absl::Status Flush() {
    if (batch_.size() == 0) return absl::OkStatus();
    progress_.records = seen_;
    batch_.Put(marker_, kProgressKey, Encode(progress_));
    LATCHKEY_RETURN_IF_ERROR(db_.Write(batch_));
    applied_ += batch_.size() - 1;
    batch_.Clear();
    batch_bytes_ = 0;
    return CheckStop(hooks_, kLoadStopped);
  }
  uint64_t applied() const { return applied_; }

 private:
  Database& db_;
  const Tree marker_;
  LoadProgress progress_;
  const LoadOptions& options_;
  const TransferHooks& hooks_;
  WriteBatch batch_;
  uint64_t batch_bytes_ = 0;
  Tree tree_;
  uint64_t skip_ = 0, seen_ = 0, applied_ = 0;
};

/// The position at which to begin, or the reason to refuse.
absl::StatusOr<LoadProgress> PlanStart(Database& db, const DumpSummary& dump, LoadStart start) {
  const LoadProgress fresh{.digest = dump.digest, .records = 0, .total = dump.records};
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<LoadProgress> found, FindInterruptedLoad(db));
  if (!found || start == LoadStart::kRestart) return fresh;
  if (start == LoadStart::kFresh) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "a load was interrupted here after {} of {} records: --resume goes on with "
                      "the same dump, --restart begins with this one",
                      found->records, found->total);
  }
  if (found->digest == dump.digest && found->total == dump.records) return *found;
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the load that was interrupted here was of another dump (digest {:016x}, {} "
                    "records; this one {:016x}, {}): give that one, or --restart",
                    found->digest, found->total, dump.digest, dump.records);
}

}  // namespace

absl::StatusOr<DumpSummary> DumpDatabase(Database& db, const std::string& tree, DumpForm form,
                                         ByteSink& sink, const TransferHooks& hooks) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DumpWriter> writer, NewDumpWriter(form, sink));
  Transaction transaction = db.Begin();
  const std::vector<std::string> names =
      tree.empty() ? db.ListTrees() : std::vector<std::string>{tree};
  for (const std::string& name : names) {
    if (name == kLoadTree) continue;
    LATCHKEY_RETURN_IF_ERROR(DumpTree(db, transaction, name, *writer, hooks));
  }
  LATCHKEY_RETURN_IF_ERROR(transaction.Rollback());
  LATCHKEY_RETURN_IF_ERROR(writer->Finish());
  return writer->summary();
}

absl::StatusOr<DumpSummary> ValidateDump(ByteSource& source, const TransferHooks& hooks) {
  Ignore ignore;
  return AsStopped(
      ReadDump(source, ignore, [&](uint64_t bytes) { return Report(hooks, bytes, kCheckStopped); }),
      kCheckStopped);
}

absl::StatusOr<std::optional<LoadProgress>> FindInterruptedLoad(Database& db) {
  const absl::StatusOr<Tree> marker = db.OpenTree(kLoadTree, /*create=*/false);
  if (absl::IsNotFound(marker.status())) return std::nullopt;
  LATCHKEY_RETURN_IF_ERROR(marker.status());
  std::string bytes;
  const absl::Status read = db.Get(*marker, kProgressKey, &bytes);
  if (absl::IsNotFound(read)) return std::nullopt;  // interrupted before its first batch
  LATCHKEY_RETURN_IF_ERROR(read);
  LoadProgress progress;
  if (bytes.size() != sizeof(progress)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the note of an interrupted load has {} bytes instead of {}: --restart "
                      "begins again",
                      bytes.size(), sizeof(progress));
  }
  std::memcpy(&progress, bytes.data(), sizeof(progress));
  return progress;
}

absl::StatusOr<uint64_t> LoadDump(Database& db, ByteSource& source, const DumpSummary& validated,
                                  const LoadOptions& options, const TransferHooks& hooks) {
  if (options.start == LoadStart::kRestart) {
    if (const absl::Status dropped = db.DropTree(kLoadTree);
        !dropped.ok() && !absl::IsNotFound(dropped)) {
      return dropped;
    }
  }
  LATCHKEY_ASSIGN_OR_RETURN(const LoadProgress begin, PlanStart(db, validated, options.start));
  LATCHKEY_ASSIGN_OR_RETURN(const Tree marker, db.OpenTree(kLoadTree));
  Applier applier(db, marker, begin, options, hooks);
  LATCHKEY_ASSIGN_OR_RETURN(
      const DumpSummary applied,
      AsStopped(ReadDump(source, applier,
                         [&](uint64_t bytes) { return Report(hooks, bytes, kLoadStopped); }),
                kLoadStopped));
  if (applied != validated) {
    return MakeStatus(absl::StatusCode::kAborted,
                      "the dump changed while it was loaded: load it again with --restart");
  }
  LATCHKEY_RETURN_IF_ERROR(applier.Flush());
  LATCHKEY_RETURN_IF_ERROR(db.DropTree(kLoadTree));
  return applier.applied();
}

}  // namespace latchkey
