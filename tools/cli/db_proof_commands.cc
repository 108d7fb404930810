// The verbs verify and salvage.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/salvage/salvage.h"
#include "engine/transaction_impl.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/database_marks.h"
#include "tools/cli/db_backup.h"
#include "tools/cli/db_commands.h"
#include "tools/cli/db_transfer.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"

namespace latchkey {
namespace {

struct TreeProof {
  uint64_t records = 0, bytes = 0;
};

/// Reads every record: large values page by page, keys in strictly ascending order.
absl::StatusOr<TreeProof> ReadTree(DatabaseImpl& db, const std::string& name, Progress& progress) {
  LATCHKEY_ASSIGN_OR_RETURN(TreeImpl* const tree, db.OpenTree(name, /*create=*/false));
  TreeProof proof;
  std::string previous;
  const std::unique_ptr<TransactionImpl> transaction = db.Begin();
  CursorImpl cursor(*transaction, tree, {});
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    if (proof.records > 0 && cursor.key() <= previous) {
      return MakeStatus(absl::StatusCode::kDataLoss, "tree \"{}\": keys out of order at \"{}\"",
                        name, ToText(cursor.key(), TextForm::kEscaped));
    }
    previous = cursor.key();
    ++proof.records;
    proof.bytes += cursor.key().size() + cursor.value().size();
    if (proof.records % kRecordsBetweenProgress != 0) continue;
    if (StopRequested().load(std::memory_order_relaxed)) {
      return MakeStatus(absl::StatusCode::kCancelled,
                        "interrupted after {} records of tree \"{}\": nothing is proven; run "
                        "verify again",
                        proof.records, ToText(name, TextForm::kEscaped));
    }
    progress.Show(fmt::format("tree \"{}\": {} records read", name, proof.records));
  }
  if (cursor.status().ok()) return proof;
  return MakeStatus(cursor.status().code(), "tree \"{}\": {}", name,
                    std::string(cursor.status().message()));
}

absl::Status Verify(DatabaseImpl& db, Progress& progress) {
  progress.Show("walking the trees");
  VerifiedPages pages;
  LATCHKEY_RETURN_IF_ERROR(db.Verify(&pages));
  std::string text;
  for (const std::string& name : db.ListTrees()) {
    LATCHKEY_ASSIGN_OR_RETURN(const TreeProof proof, ReadTree(db, name, progress));
    text += fmt::format("tree \"{}\": {}, {} bytes\n", ToText(name, TextForm::kEscaped),
                        CountOf(proof.records, "record"), proof.bytes);
  }
  progress.Clear();
  text += fmt::format(
      "{} pages in use, each by one tree, none leaked: {} inner, {} leaves, {} overflow\n"
      "{} page ids free; {} pages read from the device for this, the others were in memory\n"
      "proven: order and fences of every page, levels, page map and free pages; checksum,\n"
      "identity and write sequence of every page read; every value read in full\n"
      "sound\n",
      pages.pages(), pages.inner, pages.leaves, pages.overflow, pages.free_ids, pages.page_reads);
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

void PrintTree(const SalvagedTree& tree) {
  std::printf("tree \"%s\": %s", ToText(tree.name, TextForm::kEscaped).c_str(),
              CountOf(tree.records, "record").c_str());
  const auto print = [](uint64_t count, const char* what) {
    if (count > 0) std::printf("; %llu %s", static_cast<unsigned long long>(count), what);
  };
  print(tree.adopted_records, "of them from leaves below lost inner pages");
  print(tree.lost_pages, "pages lost");
  print(tree.lost_values, "records lost with their large values");
  print(tree.outdated_pages, "pages from older copies");
  std::puts("");
}

void PrintLog(const SalvageReport& report) {
  std::string text;
  switch (report.log) {
    case LogUse::kNone:
      text = "no log is needed: the data file has everything";
      break;
    case LogUse::kReplayed:
      text = fmt::format(
          "the log was replayed: {} records, {} changes that the data file did not have, {} of "
          "pages that are lost; {} changes of transactions that had not committed were taken back",
          report.log_records, report.log_changes, report.log_changes_lost,
          report.unfinished_changes);
      break;
    case LogUse::kUnreadable:
      text = fmt::format(
          "the log was not replayed ({}): changes that had not reached the data file are missing, "
          "and changes of transactions that had not committed may be there; compare the new "
          "database with a backup",
          report.log_error);
      break;
  }
  std::puts(text.c_str());
}

void PrintLoss(const SalvageReport& report) {
  uint64_t pages = 0, values = 0, outdated = 0;
  for (const SalvagedTree& tree : report.trees) {
    pages += tree.lost_pages;
    values += tree.lost_values;
    outdated += tree.outdated_pages;
  }
  const std::string changes = report.log == LogUse::kUnreadable
                                  ? "the changes that only the log holds"
                                  : fmt::format("{} changes of the log", report.log_changes_lost);
  const std::string text = fmt::format(
      "some of it is lost: {} pages, {} large values, {}{}; {} pages are older copies; compare the "
      "new database with a backup\n",
      pages, values, changes, report.catalog_complete ? "" : ", names of trees", outdated);
  std::fputs(text.c_str(), stdout);
}

void PrintReport(const SalvageReport& report) {
  std::fputs(
      fmt::format(
          "pages of {} bytes{}: {} places read, {} pages found, {} older copies, {} damaged, "
          "{} unreadable\n",
          report.page_size, report.proven ? "" : ", taken by their looks", report.pages.places,
          report.pages.proven - report.pages.old_copies, report.pages.old_copies,
          report.pages.damaged, report.pages.unreadable)
          .c_str(),
      stdout);
  if (!report.superblock_found) {
    std::printf("no superblock is readable: %s taken from the other pages and the log\n",
                report.proven ? "page size and database id are" : "the page size is");
  }
  if (!report.catalog_found) {
    std::puts("the catalogue is lost: trees are named after their root pages");
  } else if (!report.catalog_complete) {
    std::puts("part of the catalogue is lost: some trees are named after their root pages");
  }
  for (const SalvagedTree& tree : report.trees) PrintTree(tree);
  if (report.unused_leaves > 0) {
    std::printf("%llu leaves belong to no tree (pages freed before, most likely): left out\n",
                static_cast<unsigned long long>(report.unused_leaves));
  }
  PrintLog(report);
  if (!report.whole()) return PrintLoss(report);
  std::puts("everything that the trees name was found");
}

absl::StatusOr<SalvageReport> RunSalvage(const SalvageFlags& flags) {
  Progress progress;
  SalvageOptions options;
  LATCHKEY_ASSIGN_OR_RETURN(options.output, DatabaseOptions(flags.db, progress));
  options.output.durability = Durability::kNone;  // the output counts only once it is closed
  options.without_proof = flags.without_proof;
  options.stop = &StopRequested();
  options.progress = [&](uint64_t done, uint64_t total) {
    progress.Show(fmt::format("reading {}: {} %", flags.db.path, done * 100 / total));
  };
  return Salvage(flags.db.path, flags.out, options);
}

/// Says what the error is about: the database, or the place of the result. If no page was found
/// in the data file, it is damaged (DataLoss) or never was ours (InvalidArgument).
absl::Status AboutSalvage(const SalvageFlags& flags, const absl::Status& status) {
  namespace fs = std::filesystem;
  const std::string& path = flags.db.path;
  if (absl::IsDataLoss(status)) return AboutDatabase(path, status);
  const absl::Status named =
      RefuseFile(path, "the directory of a database", WithPath(path, status));
  if (!absl::IsNotFound(named)) return named;
  const DatabaseMarks marks = FindMarks(path);
  if (marks.foreign()) return absl::InvalidArgumentError(named.message());
  std::error_code error;
  const fs::path data = fs::path(path) / "data.lk";
  const fs::path out = fs::absolute(flags.out, error) / "";
  // An empty file alone is a database that was not created yet.
  const bool could_look = fs::exists(data, error) &&
                          (marks.damaged() || !fs::is_empty(data, error)) &&
                          fs::exists(out.parent_path().parent_path(), error);
  return could_look ? absl::DataLossError(named.message()) : named;
}

// Uses the interface below the public one, which has no page counts.
absl::Status OpenAndVerify(const VerifyFlags& flags) {
  Progress progress;
  LATCHKEY_ASSIGN_OR_RETURN(Options options, DatabaseOptions(flags.db, progress));
  options.read_only = true;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            DatabaseImpl::Open(ThreadRuntime(), flags.db.path, options));
  const absl::Status verified = Verify(*db, progress);
  const absl::Status closed = db->Close();
  return verified.ok() ? closed : verified;
}

}  // namespace

int VerifyCommand(const VerifyFlags& flags) {
  if (IsBackupDirectory(flags.db.path)) return VerifyBackupCommand(flags.db.path);
  return Finish(AboutDatabase(flags.db.path, OpenAndVerify(flags)));
}

int SalvageCommand(const SalvageFlags& flags) {
  const absl::StatusOr<SalvageReport> report = RunSalvage(flags);
  if (!report.ok()) return Finish(AboutSalvage(flags, report.status()));
  PrintReport(*report);
  return report->whole() ? kExitOk : kExitInconsistent;
}

}  // namespace latchkey
