// ChangeRecords: appends kChange and kCompensation, which describe the change of one record of a
// leaf.
//
// Invariant: a record is appended while its page is latched exclusively, and gives the page its
// LSN. So the order of the records of a page is the order of its changes.
//
// Thread-safety: every actor may call every member at once, each LogTxn and LogSpace from its own
// actor. May wait for the device if both halves of the log's buffer are full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree_log.h"
#include "engine/log/active_transactions.h"
#include "engine/log/first_images.h"
#include "engine/log/log_accounts.h"
#include "engine/log/log_health.h"
#include "engine/log/log_record.h"
#include "engine/log/log_txn.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class ChangeRecords {
 public:
  ChangeRecords(Log& log, const LogHealth& health, LogAccounts& accounts,
                ActiveTransactions& active, FirstImages& images)
      : log_(log), health_(health), accounts_(accounts), active_(active), images_(images) {}

  /// As EngineLog::LogChange, LogCompensation, LogSystemChange.
  Lsn LogChange(LogTxn& txn, const RecordChange& change, std::byte* page);
  Lsn LogCompensation(LogTxn& txn, const RecordChange& change, std::byte* page);
  Lsn LogSystemChange(LogSpace& space, const RecordChange& change, std::byte* page);

 private:
  // The change of one page.
  struct Target {
    PageId id;
    std::byte* page;
  };

  Lsn AppendEncoded(LogTxn* txn, LogRecordType type, const ChangeEncoding& change, std::byte* page);
  Lsn Append(LogTxn* txn, LogRecordType type, const ChangeEncoding& change, Target target,
             uint64_t* image_space);

  Log& log_;
  const LogHealth& health_;
  LogAccounts& accounts_;
  ActiveTransactions& active_;
  FirstImages& images_;
};

}  // namespace latchkey
