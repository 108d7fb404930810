// The client root: the engine's bytes that the layout keeps with each of its checkpoints (at most
// 2048 bytes, replaced atomically). An open begins here: it says where the catalogue is, and from
// which LSN on the log is needed.
//
//   OFFSET SIZE  FIELD
//        0    4  format version (2)
//        4    4  next tree id
//        8    8  root page of the catalogue
//       16    8  next transaction id: above every id that a log record below `redo` carries
//   since version 2:
//       24    4  flags: 1 = the database has a log, 2 = closed cleanly
//       28    4  zero
//       32    8  redo: LSN at which redo begins; every change below it is in the pages
//       40    8  first needed: LSN of the oldest record that recovery reads; at most `redo`
//       48    8  scan from: start of the group of the first needed record
//       56    8  end: one past the newest record that was known
//
// Thread-safety: values and pure functions.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

struct ClientRoot {
  uint32_t next_tree_id = 1;
  PageId catalog_root = kInvalidPageId;
  TxnId next_txn_id{1};
  bool has_log = false;  ///< the open needs the log, unless it logs nothing and the close was clean
  bool clean = false;
  Lsn redo{0};
  Lsn first_needed{0};
  Lsn scan_from{0};
  Lsn end{0};
};

std::vector<std::byte> EncodeClientRoot(const ClientRoot& root);

/// Reads versions 1 (no log) and 2. DataLoss: not a client root. FailedPrecondition: a newer
/// format.
absl::StatusOr<ClientRoot> DecodeClientRoot(std::span<const std::byte> bytes);

}  // namespace latchkey
