#include "engine/salvage/log_rescue.h"

#include <algorithm>
#include <map>
#include <utility>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/log/client_root.h"
#include "engine/log/log_analysis.h"
#include "engine/log/redo.h"
#include "engine/log/undo.h"
#include "engine/salvage/survey_store.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "storage/wal/log.h"

namespace latchkey {
namespace {

constexpr uint32_t kFrames = 4096;

absl::StatusOr<std::unique_ptr<BufferPool>> NewPool(PageStore& store) {
  return BufferPool::Create(ThreadRuntime(), store, MakePlainFixPolicy(ThreadRuntime(), kFrames),
                            kFrames, kFrames);
}

absl::Status Analyse(Log& log, const ClientRoot& root, LogAnalysis* analysis) {
  LATCHKEY_RETURN_IF_ERROR(log.FindEnd(root.scan_from, root.end));
  LogRecord record;
  return log.ForEach(root.first_needed, [&](const LogRecordView& view) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(view.bytes, &record));
    analysis->Add(view.lsn, record);
    return absl::OkStatus();
  });
}

/// Walks the changes of one transaction backwards, as undo does, and keeps those that can be taken
/// back. It leaves out differences that the pages do not hold.
class Unfinished {
 public:
  /// `left_out`: changes that the pages do not hold; ascending.
  Unfinished(Log& log, const std::vector<Lsn>& left_out) : log_(log), left_out_(left_out) {}

  absl::Status Add(const LogAnalysis::Loser& loser) {
    std::vector<std::byte> bytes;
    LogRecord record;
    UndoneChanges undone;
    for (Lsn lsn = loser.last; lsn != Lsn{0};) {
      LATCHKEY_RETURN_IF_ERROR(log_.Read(lsn, &bytes));
      LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(bytes, &record));
      if (Raw(record.header.previous) >= Raw(lsn)) {
        return MakeStatus(absl::StatusCode::kDataLoss, "the log at {} leads to {}", Raw(lsn),
                          Raw(record.header.previous));
      }
      const RecordChange& change = record.change;
      if (record.header.type == LogRecordType::kCompensation) {
        undone.AddCompensation(lsn, change);
      } else if (record.header.type == LogRecordType::kChange && !undone.Contain(lsn, change) &&
                 !(change.is_difference && IsLeftOut(lsn))) {
        changes_[{Raw(change.tree), std::string(change.key)}].push_back(bytes);
      }
      lsn = record.header.previous;
    }
    return absl::OkStatus();
  }
  std::vector<UnfinishedRecord> Take() {
    std::vector<UnfinishedRecord> records;
    for (auto& [place, changes] : changes_) {
      records.push_back(
          {.tree = TreeId{place.first}, .key = place.second, .changes = std::move(changes)});
    }
    return records;
  }

 private:
  bool IsLeftOut(Lsn lsn) const {
    return std::binary_search(left_out_.begin(), left_out_.end(), lsn);
  }

  Log& log_;
  const std::vector<Lsn>& left_out_;
  std::map<std::pair<uint32_t, std::string>, std::vector<std::vector<std::byte>>> changes_;
};

absl::StatusOr<RescuedLog> Rescue(Log& log, const ClientRoot& root, PageSurvey& survey) {
  LogAnalysis analysis;
  LATCHKEY_RETURN_IF_ERROR(Analyse(log, root, &analysis));
  RescuedLog rescued{.records = analysis.records()};
  SurveyStore store(survey);
  {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BufferPool> pool, NewPool(store));
    Redo redo(*pool, analysis, /*log_end=*/Lsn{UINT64_MAX}, Redo::Misfits::kSkip);
    LATCHKEY_RETURN_IF_ERROR(redo.Run(log, root.redo));
    LATCHKEY_RETURN_IF_ERROR(pool->WriteAllDirty());
    rescued.redone = redo.applied();
    rescued.skipped = redo.left_out().size();
    Unfinished unfinished(log, redo.left_out());
    for (const LogAnalysis::Loser& loser : analysis.Losers()) {
      LATCHKEY_RETURN_IF_ERROR(unfinished.Add(loser));
      ++rescued.unfinished_transactions;
    }
    rescued.unfinished = unfinished.Take();
  }
  for (auto& [id, bytes] : store.TakeWritten()) {
    // A lost page was created zeroed and has taken no change.
    const bool is_page = bytes[offsetof(PageHeader, page_type)] != std::byte{0};
    if (is_page) survey.Put(id, std::move(bytes));
  }
  return rescued;
}

}  // namespace

absl::StatusOr<std::optional<RescuedLog>> RedoOverSurvey(
    const std::optional<Superblock>& superblock, uint64_t database_id,
    absl::StatusOr<std::unique_ptr<BlockDevice>> device, PageSurvey& survey) {
  if (!superblock) {
    return absl::DataLossError("no superblock is left that says where it begins");
  }
  LATCHKEY_ASSIGN_OR_RETURN(const ClientRoot root, DecodeClientRoot(superblock->client_root));
  const bool is_needed = root.has_log && !(root.clean && superblock->clean);
  if (!is_needed) return std::optional<RescuedLog>();
  if (!device.ok()) return device.status();
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<Log> log,
      OpenLog(ThreadRuntime(), *std::move(device), {.database_id = database_id}));
  LATCHKEY_ASSIGN_OR_RETURN(RescuedLog rescued, Rescue(*log, root, survey));
  return std::optional<RescuedLog>(std::move(rescued));
}

}  // namespace latchkey
