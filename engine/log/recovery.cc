#include "engine/log/recovery.h"

#include <string>

#include "engine/log/redo.h"
#include "engine/log/undo.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status Recovery::Analyze() {
  LATCHKEY_RETURN_IF_ERROR(log_.FindEnd(root_.scan_from, log_reach_));
  read_to_ = Raw(log_.end());
  LogRecord record;
  return log_.ForEach(root_.first_needed, [&](const LogRecordView& view) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(view.bytes, &record));
    analysis_.Add(view.lsn, record);
    if (record.header.type == LogRecordType::kCheckpoint) ++checkpoint_records_;
    return absl::OkStatus();
  });
}

absl::Status Recovery::Redo(BufferPool& pool) {
  latchkey::Redo redo(pool, analysis_, Lsn{read_to_}, latchkey::Redo::Misfits::kRefuse, log_sink_);
  LATCHKEY_RETURN_IF_ERROR(redo.Run(log_, root_.redo));
  redone_ = redo.applied();
  repaired_ = redo.repaired();
  if (LATCHKEY_CANARY("recovery-resets-log-before-flush")) log_.Truncate(log_.end());
  // The log says that these pages are free. Whether the store knew this depends on the moment of
  // the crash.
  uint64_t freed = 0;
  for (const PageId page : analysis_.FreePages()) {
    if (Raw(page) >= pool.store().page_id_limit() || !pool.store().IsAllocated(page)) continue;
    pool.ReturnPageId(pool.Here(), page);
    ++freed;
  }
  LogTo(log_sink_, LogLevel::kInfo,
        "recovery: " + std::to_string(analysis_.records()) + " log records from " +
            std::to_string(Raw(root_.first_needed)) + " to " + std::to_string(Raw(log_.end())) +
            ", " + std::to_string(redone_) + " changes redone, " + std::to_string(freed) +
            " pages freed");
  return absl::OkStatus();
}

absl::Status Recovery::Undo(BufferPool& pool, EngineLog& engine_log, OverflowStore& overflow,
                            Client& client) {
  UndoPass undo(pool, engine_log, analysis_, [&](TreeId tree) { return client.FindTree(tree); });
  LATCHKEY_RETURN_IF_ERROR(undo.Run());
  undone_ = undo.undone();
  for (const LogAnalysis::RangeDelete& range_delete : analysis_.UnfinishedRangeDeletes()) {
    if (LATCHKEY_CANARY("recovery-leaves-a-range-delete")) continue;
    LATCHKEY_RETURN_IF_ERROR(client.FinishRangeDelete(analysis_, range_delete));
  }
  for (const LogAnalysis::Drop& drop : analysis_.UnfinishedDrops()) {
    LATCHKEY_RETURN_IF_ERROR(client.FinishDrop(analysis_, drop));
  }
  LATCHKEY_RETURN_IF_ERROR(FreeChains(overflow));
  if (undone_ > 0) {
    LogTo(log_sink_, LogLevel::kInfo,
          "recovery: " + std::to_string(undone_) + " changes of unfinished transactions undone");
  }
  return PurgeGhosts(client);
}

void Recovery::Describe(Statistics::Recovery* to) const {
  to->log_bytes = read_to_ - Raw(root_.first_needed);
  to->log_records = analysis_.records();
  to->redone_changes = redone_;
  to->undone_changes = undone_;
  to->repaired_pages = repaired_;
}

absl::Status Recovery::FreeChains(OverflowStore& overflow) {
  for (const OverflowChain& chain : analysis_.UnneededChains()) {
    if (LATCHKEY_CANARY("recovery-leaks-old-values")) break;
    LATCHKEY_RETURN_IF_ERROR(overflow.Free({reinterpret_cast<const char*>(&chain), sizeof(chain)}));
  }
  return absl::OkStatus();
}

absl::Status Recovery::PurgeGhosts(Client& client) {
  std::vector<std::byte> bytes;
  LogRecord record;
  for (const Lsn lsn : analysis_.ghosts()) {
    LATCHKEY_RETURN_IF_ERROR(log_.Read(lsn, &bytes));
    LATCHKEY_RETURN_IF_ERROR(DecodeLogRecord(bytes, &record));
    client.PurgeGhost(record.change.tree, record.change.key, /*unneeded_until=*/0);
  }
  return absl::OkStatus();
}

}  // namespace latchkey
