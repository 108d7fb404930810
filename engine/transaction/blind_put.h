// BlindPut: one put that is a whole transaction, of a key whose leaf is in no frame. It leaves the
// put to the ChangeBuffer instead of reading the leaf.
//
// The put takes effect at once, in this order, with the leaf latched: no running transaction may
// have written in the leaf (its mark), no snapshot may read before the put, the log record that is
// also the commit, the clock. An actor that asks for the leaf meanwhile waits for the latch. If any of
// this is not so, the put has not happened, and the caller repeats it or writes in the
// ordinary way.
//
// Why no version is needed: a version is for snapshots that read before the commit, and for
// conflicts of transactions with such snapshots. There are none (SnapshotManager::StampUnseen).
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <span>
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

  /// Whether it is worth beginning a transaction for Try: the buffer knows the leaf of `key`, and no
  /// snapshot keeps puts from waiting. For snapshots of other puts it waits, at most some microseconds.
  /// *place: the leaf. Takes a descent, if the buffer knows any leaf.
  static bool MayTake(const TransactionContext& context, TreeImpl& tree, std::string_view key,
                      std::string_view value, DescentHint* place);

  enum class Outcome {
    kDone,      ///< the put is committed, and the transaction is over
    kSnapshot,  ///< nothing has happened: a snapshot has come meanwhile
    kReadLeaf,  ///< nothing has happened: the caller reads the leaf
  };
  /// Unless kDone, the transaction goes on. An error as for a put; then, too, the transaction goes
  /// on, except Unavailable from the log: it is over, its outcome unknown. `at`: from MayTake; the
  /// leaf may have changed since. REQUIRES: the transaction has just begun; no latches held.
  absl::StatusOr<Outcome> Try(TreeImpl& tree, std::string_view key, std::string_view value,
                              const DescentHint& at);

  /// Splits leaves that the buffer has brought in (SplitAhead), as a writer of their trees: so neither a
  /// drop nor a range delete frees their pages meanwhile. `find_tree`: nullptr for a tree that is gone.
  /// The transaction is over afterwards. REQUIRES: it has just begun; no latches held.
  void SplitFull(std::span<const ChangeBuffer::FullLeaf> leaves,
                 absl::FunctionRef<TreeImpl*(TreeId)> find_tree);

 private:
  /// The commit, with the leaf latched.
  Outcome Commit(const TreeImpl& tree, std::string_view key, std::string_view value,
                 ChangeBuffer::Place& place, Lsn* lsn);

  TransactionState& state_;
  ChangeBuffer& buffer_;
};

}  // namespace latchkey
