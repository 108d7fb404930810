// Redo: repeats history. Applies every record from the last checkpoint on to its page if the page's
// LSN is smaller. Pages that the log frees later are left alone.
//
// If a page fails its proof, redo skips its changes until the next image of the page in the log,
// which includes them. A torn page has such an image if the log holds images of all pages before
// their first change (EngineLogOptions::rely_on_images). So has a page that was united with another
// later. A page without one stays damaged, and redo fails in the end.
//
// Redo finds the log damaged, or a write lost by the device, in three cases: a page id that no page
// can have, a page changed behind the end of the log, and a page that lacks a change from before
// the record to be applied (RecordChange::page_lsn, PageSplit).
//
// The records go through batches: while one batch is applied, the pages of the next are read with
// many requests in flight.
//
// Thread-safety: one actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/node.h"
#include "engine/log/log_analysis.h"
#include "engine/log/log_record.h"
#include "engine/log/redo_reader.h"
#include "storage/base/log_sink.h"
#include "storage/wal/log.h"

namespace latchkey {

class Redo {
 public:
  /// For a change that its page cannot take: return an error, or skip the change if pages are known
  /// to be lost.
  enum class Misfits : uint8_t { kRefuse, kSkip };

  /// `log_end`: the end of the log when it was opened. A page changed behind it proves that the log
  /// has lost its end.
  Redo(BufferPool& pool, const LogAnalysis& analysis, Lsn log_end,
       Misfits misfits = Misfits::kRefuse, LogSink log_sink = nullptr)
      : pool_(pool),
        analysis_(analysis),
        log_end_(log_end),
        misfits_(misfits),
        log_sink_(std::move(log_sink)),
        reader_(pool) {}

  /// Applies every record of `log` from `from` on. DataLoss: log and pages do not fit together.
  absl::Status Run(Log& log, Lsn from);

  uint64_t applied() const { return applied_; }  ///< changes that pages lacked
  /// The records skipped with Misfits::kSkip, ascending.
  const std::vector<Lsn>& left_out() const { return left_out_; }
  uint64_t repaired() const { return repaired_; }  ///< damaged pages restored from their images

 private:
  struct Entry {
    Lsn lsn;
    size_t offset, size;  // in Batch::bytes
  };
  struct Batch {
    std::vector<std::byte> bytes;  // of the records
    std::vector<Entry> entries;
    std::vector<PageId> pages;  // that they change
    void Clear();
  };

  absl::Status Collect(const LogRecordView& view);
  bool IsFull(const Batch& batch) const;
  /// Starts to read the pages of next_, and applies the batch whose pages were read before.
  absl::Status Turn();
  absl::Status ApplyBatch(Batch& batch);
  absl::Status Apply(Lsn lsn, const LogRecord& record);
  absl::Status ApplyChange(Lsn lsn, const RecordChange& change);
  absl::Status ApplySplit(Lsn lsn, const LogRecord& record);
  /// A change of one page without an image of it.
  struct PageEdit {
    PageId page;
    uint32_t page_lsn;  ///< the low half of the LSN that the page had before
    bool fits_older;    ///< right also on a page that lacks changes before
    /// Changes the page. Returns why the page cannot take the change; empty: it has.
    absl::FunctionRef<std::string_view(NodeEditor)> apply;
  };
  absl::Status ApplyEdit(Lsn lsn, const PageEdit& edit);
  /// Whether the page is older than the change expects.
  bool LacksChanges(const std::byte* page, const PageEdit& edit);
  absl::Status ApplyImage(Lsn lsn, const LogRecord& record, const PageImage& image);
  /// As BufferPool::FixForRedo, for the record at `lsn`. DataLoss: no such page can have existed,
  /// or it is newer than the log.
  absl::Status Fix(Lsn lsn, PageId page, bool is_replaced, ExclusiveGuard* guard);
  /// As Fix, for a page that the image at `lsn` replaces if it is damaged.
  absl::Status FixForImage(Lsn lsn, PageId page, ExclusiveGuard* guard);
  /// OK, or with Misfits::kRefuse the proof's error of the first damaged page without an image.
  absl::Status EndDamage();
  void Want(Lsn lsn, PageId page);
  /// The pages of the batch that must be read, in order.
  std::vector<PageId> PagesToRead(const Batch& batch) const;

  BufferPool& pool_;
  const LogAnalysis& analysis_;
  const Lsn log_end_;
  const Misfits misfits_;
  const LogSink log_sink_;
  uint64_t page_ids_ = UINT64_MAX;  // above every id that can have been handed out
  LogRecord record_;
  Batch next_;     // being collected
  Batch current_;  // being read by reader_
  RedoReader reader_;
  std::string value_;                     // scratch
  std::unordered_set<uint64_t> lacking_;  // pages that lack changes, until an image of them comes
  std::vector<Lsn> left_out_;
  struct Damage {
    absl::Status proof;
    std::vector<Lsn> left_out;  // changes skipped because an image follows
  };
  std::map<PageId, Damage> damaged_;
  uint64_t applied_ = 0, repaired_ = 0;
};

}  // namespace latchkey
