// Redo: repeats history. Every record from the last checkpoint on is applied to its page if the
// page's LSN is smaller. Pages that the log frees later are left alone.
//
// A page that fails its proof waits for its next image in the log, which holds all that the records
// in between tell: a write that a crash has torn, where the log has images of all pages before
// their first change (EngineLogOptions::logs_images), or of a split. A page without one stays
// damaged, and redo fails in the end.
//
// A page id that no page can have, a page changed behind the end of the log, or one that lacks a
// change from before the record that is to be applied (RecordChange::page_lsn), proves that the log
// is damaged, or that the device has lost a write.
//
// The records go through batches: while one is applied, the pages of the next are read with many
// requests in flight.
//
// Thread-safety: one actor.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/log/log_analysis.h"
#include "engine/log/log_record.h"
#include "engine/log/redo_reader.h"
#include "storage/base/log_sink.h"
#include "storage/wal/log.h"

namespace latchkey {

class Redo {
 public:
  /// What to do with a change that its page cannot take: an error, or to leave it out, where pages
  /// are known to be lost.
  enum class Misfits : uint8_t { kRefuse, kSkip };

  /// `log_end`: where the log ended when it was opened. A page changed behind it proves that the
  /// log has lost its end.
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

  uint64_t applied() const { return applied_; }  ///< changes of pages that were missing
  /// The records left out, with Misfits::kSkip; ascending.
  const std::vector<Lsn>& left_out() const { return left_out_; }
  uint64_t repaired() const { return repaired_; }  ///< damaged pages made again from their images

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
  /// Has the pages of next_ read, and applies what they were read for before.
  absl::Status Turn();
  absl::Status ApplyBatch(Batch& batch);
  absl::Status Apply(Lsn lsn, const LogRecord& record);
  absl::Status ApplyChange(Lsn lsn, const RecordChange& change);
  /// Whether the page is older than the change wants it.
  bool LacksChanges(const std::byte* page, const RecordChange& change);
  absl::Status ApplyImage(Lsn lsn, const LogRecord& record, const PageImage& image);
  /// As BufferPool::FixForRedo, for the record at `lsn`. DataLoss: no such page can have been
  /// there, or it is newer than the log.
  absl::Status Fix(Lsn lsn, PageId page, bool is_replaced, ExclusiveGuard* guard);
  /// As Fix, of a page that its image at `lsn` replaces if it is damaged.
  absl::Status FixForImage(Lsn lsn, PageId page, ExclusiveGuard* guard);
  /// OK, or with Misfits::kRefuse why the first page failed its proof that no image came for.
  absl::Status EndDamage();
  void Want(Lsn lsn, PageId page);
  /// Those of the batch's pages that are to be read, in their order.
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
    std::vector<Lsn> left_out;  // changes, since an image is to come
  };
  std::map<PageId, Damage> damaged_;
  uint64_t applied_ = 0, repaired_ = 0;
};

}  // namespace latchkey
