// PageRecords: appends the records that concern whole pages: allocations, images, frees, drops.
//
// Invariant: an image is appended while its pages are latched exclusively, and gives them its LSN.
//
// Thread-safety: every actor may call every member at once, each LogTxn and LogSpace from its own
// actor. May wait for the device if both halves of the log's buffer are full.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <span>
#include <string_view>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "engine/log/active_transactions.h"
#include "engine/log/frees_under_way.h"
#include "engine/log/log_accounts.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "engine/log/pending_chains.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

/// The parts of an EngineLog that records of pages change.
struct PageRecordsParts {
  Log& log;
  LogHealth& health;
  LogAccounts& accounts;
  ActiveTransactions& active;
  FreesUnderWay& frees_under_way;
  PendingChains& chains;
};

class PageRecords {
 public:
  /// Most pages that one record changes: a range delete changes a page a level.
  static constexpr size_t kMaxImages = 41;

  /// `wants_images`: of every page that a record of pages changes, because redo may find it torn.
  PageRecords(const PageRecordsParts& parts, uint32_t page_size, bool wants_images)
      : parts_(parts), page_size_(page_size), wants_images_(wants_images) {}

  /// As the functions of EngineLog.
  void LogValuePage(LogTxn& txn, ExclusiveGuard& page);
  void LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> freed) {
    LogImages(txn, space, changed, freed, ImagesKind::kChange);
  }
  void LogLastImages(LogTxn& txn, LogSpace& space, std::span<ExclusiveGuard* const> changed) {
    LogImages(&txn, space, changed, {}, ImagesKind::kEnd);
  }
  /// A kSplit, or if images are wanted a kImages.
  void LogSplit(LogSpace& space, ExclusiveGuard& parent, ExclusiveGuard& page,
                ExclusiveGuard& right, std::string_view separator);
  absl::StatusOr<Lsn> LogUnloggedPages(LogTxn& txn, std::span<const PageId> pages);
  void LogDetach(LogTxn& txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> detached) {
    LogImages(&txn, space, changed, detached, ImagesKind::kDetach);
  }
  void LogFreeSorted(LogTxn& txn, LogSpace& space, std::span<const PageId> pages);
  void LogFree(LogTxn* txn, LogSpace& space, PageId chain, std::span<const PageId> pages);
  absl::Status LogDropTree(LogTxn& drop, TreeId tree, PageId root, std::string_view name);

 private:
  void LogImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                 std::span<const PageId> ids, ImagesKind kind);
  template <size_t kImages>
  void LogSomeImages(LogTxn* txn, LogSpace& space, std::span<ExclusiveGuard* const> changed,
                     std::span<const PageId> ids, ImagesKind kind);

  const PageRecordsParts parts_;
  const uint32_t page_size_;
  const bool wants_images_;
};

}  // namespace latchkey
