// The client root: the engine's bytes that the layout keeps with each of its checkpoints (at most
// 2048 bytes, replaced atomically). An open begins here: it says where the catalogue is, and from
// which LSN on the log is needed.
//
//   OFFSET SIZE  FIELD
//        0    4  format version: 4
//        4    4  next tree id
//        8    8  root page of the catalogue
//       16    8  next transaction id: above every id that a log record below `redo` carries
//   since version 2:
//       24    4  flags: 1 = the database has a log, 2 = closed cleanly
//       28    4  number of backups below
//       32    8  redo: LSN at which redo begins; every change below it is in the pages
//       40    8  first needed: LSN of the oldest record that recovery reads; at most `redo`
//       48    8  scan from: start of the group of the first needed record
//       56    8  end: one past the newest record that was known
//   since version 3, for each backup, oldest first (engine/backup/README.md says what they are for):
//        0    8  its id
//        8    4  number of its sealed page files: the database has made durable the writes that they
//                hold; later writes may have replaced them
//       12    4  1 = the backup was finished
//   since version 4 entries of the catalogue may have flags (engine/catalog_entry.h), and the log may
//   hold range deletes.
//
// Thread-safety: values and pure functions.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

/// What the database knows of a backup of it.
struct BackupNote {
  uint64_t id = 0;
  uint32_t page_files = 0;  ///< sealed so far
  bool finished = false;
};

struct ClientRoot {
  static constexpr size_t kMostBackups = 16;

  uint32_t next_tree_id = 1;
  PageId catalog_root = kInvalidPageId;
  TxnId next_txn_id{1};
  bool has_log = false;  ///< the open needs the log, unless it logs nothing and the close was clean
  bool clean = false;
  Lsn redo{0};
  Lsn first_needed{0};
  Lsn scan_from{0};
  Lsn end{0};
  std::vector<BackupNote> backups;  ///< oldest first, at most kMostBackups
};

std::vector<std::byte> EncodeClientRoot(const ClientRoot& root);

/// Reads versions 1 (no log) to 4. DataLoss: not a client root. FailedPrecondition: a newer
/// format.
absl::StatusOr<ClientRoot> DecodeClientRoot(std::span<const std::byte> bytes);

}  // namespace latchkey
