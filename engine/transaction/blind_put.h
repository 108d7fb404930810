// BlindPut: one put that is a whole transaction, of a key whose leaf is in no frame. It leaves the
// put to the ChangeBuffer instead of reading the leaf.
//
// The put takes effect at once, in this order, with the leaf latched: no running transaction may
// have written in the leaf (its mark), no snapshot may read before the put, the log record that is
// also the commit, the clock. Whoever asks for the leaf meanwhile waits for the latch. If any of
// this is not so, the put has not happened, and the caller writes in the ordinary way.
//
// Why no version is needed: a version is for snapshots that read before the commit, and for
// conflicts of transactions with such snapshots. There are none (SnapshotManager::StampUnseen).
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/statusor.h>

#include <string_view>

#include "engine/btree/tree.h"
#include "engine/change_buffer/change_buffer.h"
#include "engine/transaction/transaction_state.h"
#include "engine/tree_impl.h"
#include "storage/base/ids.h"

namespace latchkey {

class BlindPut {
 public:
  BlindPut(TransactionState& state, ChangeBuffer& buffer) : state_(state), buffer_(buffer) {}

  /// Whether it is worth beginning a transaction for Try: the buffer may know the leaf of `key`, and
  /// no snapshot keeps puts from waiting. *place: the leaf. Takes a descent, if the buffer knows any
  /// leaf.
  static bool MayTake(const TransactionContext& context, TreeImpl& tree, std::string_view key,
                      std::string_view value, DescentHint* place);

  /// True: the put is committed, and the transaction is over. False: nothing has happened, and the
  /// transaction goes on. An error as for a put; then, too, the transaction goes on, except
  /// Unavailable from the log: it is over, its outcome unknown. `at`: from MayTake; the leaf may have
  /// changed since. REQUIRES: the transaction has just begun; no latches held.
  absl::StatusOr<bool> Try(TreeImpl& tree, std::string_view key, std::string_view value,
                           const DescentHint& at);

 private:
  /// The commit, with the leaf latched. False: nothing has happened.
  bool Commit(const TreeImpl& tree, std::string_view key, std::string_view value,
              ChangeBuffer::Place& place, Lsn* lsn);

  TransactionState& state_;
  ChangeBuffer& buffer_;
};

}  // namespace latchkey
