// lk_begin and lk_txn_*, except those that read many keys.
#include <bit>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

static_assert(sizeof(Savepoint) == sizeof(lk_savepoint) && std::is_trivially_copyable_v<Savepoint>);

// ---- Beginning and ending.

lk_code ReadBeginOptions(const lk_begin_options* given, BeginOptions* options, lk_error* error) {
  lk_begin_options known = LK_BEGIN_OPTIONS_INIT;
  const lk_code read = ReadStruct(given, "lk_begin_options", &known, error);
  if (read != LK_OK) return read;
  options->read_only = known.read_only != 0;
  return ReadIsolation(known.isolation, &options->isolation, error);
}

/// Whether a transaction has ended. A read of no tree is refused with one code or another.
bool IsOver(Transaction& transaction) {
  std::string none;
  return absl::IsFailedPrecondition(transaction.Get(Tree(), {}, &none));
}

/// Whether a commit that returned `code` has left the transaction open.
bool GoesOn(lk_code code, Transaction& transaction) {
  return code == LK_RESOURCE_EXHAUSTED || (code == LK_FAILED_PRECONDITION && !IsOver(transaction));
}

using ReadCall = absl::Status (Transaction::*)(Tree, std::string_view, std::string*);

[[gnu::noinline]] lk_code ReadChecked(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value,
                                      lk_error* error, ReadCall read) noexcept {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return ReadInto(value, error, [&](std::string* text) {
      return (transaction.*read)(TreeOf(tree), ViewOf(key), text);
    });
  });
}

lk_code WriteInTransaction(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error,
                           absl::Status (Transaction::*write)(Tree, std::string_view,
                                                              std::string_view)) noexcept {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    if (!IsReadable(value)) return FailUnreadable(error, "the value");
    return Report(error, (transaction.*write)(TreeOf(tree), ViewOf(key), ViewOf(value)));
  });
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_begin(lk_db db, const lk_begin_options* options, lk_txn* txn, lk_error* error) {
  if (txn == nullptr) return FailNull(error, "txn");
  txn->id = 0;
  return WithDatabase(db, error, [&](Database& database) {
    BeginOptions begin;
    const lk_code read = ReadBeginOptions(options, &begin, error);
    if (read != LK_OK) return read;
    Transaction transaction = database.Begin(begin);
    const absl::Status begun = transaction.status();
    if (!begun.ok()) return Fail(error, begun);
    return MakeHandle(transactions, "transaction", &txn->id, error, std::move(transaction));
  });
}

lk_code lk_txn_commit(lk_txn txn, lk_error* error) {
  return lk_txn_commit_with(txn, nullptr, error);
}

lk_code lk_txn_commit_with(lk_txn txn, const lk_commit_options* options, lk_error* error) {
  CommitOptions commit;
  const lk_code read = Guarded(error, [&] { return ReadCommitOptions(options, &commit, error); });
  if (read != LK_OK) return read;
  OpenTransaction* taken = transactions.Take(txn.id);
  if (taken == nullptr) return FailHandle(error, "transaction", txn.id);
  const lk_code code = Guarded(error, [&] { return Report(error, taken->Commit(commit)); });
  if (GoesOn(code, *taken)) {
    transactions.GiveBack(txn.id);
  } else {
    transactions.Destroy(txn.id);
  }
  return code;
}

lk_code lk_txn_rollback(lk_txn txn, lk_error* error) {
  OpenTransaction* taken = transactions.Take(txn.id);
  if (taken == nullptr) return FailHandle(error, "transaction", txn.id);
  const lk_code code = Guarded(error, [&] {
    const absl::Status status = taken->Rollback();
    // It is over already.
    if (status.code() == absl::StatusCode::kFailedPrecondition) return kOk;
    return Report(error, status);
  });
  transactions.Destroy(txn.id);
  return code;
}

int lk_txn_is_vain_to_repeat(lk_txn txn) {
  const Transaction* found = transactions.Find(txn.id);
  return found != nullptr && found->is_vain_to_repeat();
}

lk_code lk_txn_get(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value, lk_error* error) {
  return ReadRecord<Transaction>(
      transactions.Find(txn.id), &Transaction::Get, tree, key, value, error,
      [&] { return ReadChecked(txn, tree, key, value, error, &Transaction::Get); });
}

lk_code lk_txn_get_for_update(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value,
                              lk_error* error) {
  return ReadRecord<Transaction>(
      transactions.Find(txn.id), &Transaction::GetForUpdate, tree, key, value, error,
      [&] { return ReadChecked(txn, tree, key, value, error, &Transaction::GetForUpdate); });
}

lk_code lk_txn_put(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return WriteInTransaction(txn, tree, key, value, error, &Transaction::Put);
}

lk_code lk_txn_insert(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return WriteInTransaction(txn, tree, key, value, error, &Transaction::Insert);
}

lk_code lk_txn_delete(lk_txn txn, lk_tree tree, lk_bytes key, lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return Report(error, transaction.Delete(TreeOf(tree), ViewOf(key)));
  });
}

lk_code lk_txn_set_savepoint(lk_txn txn, lk_savepoint* savepoint, lk_error* error) {
  if (savepoint == nullptr) return FailNull(error, "savepoint");
  *savepoint = {};
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    const absl::StatusOr<Savepoint> set = transaction.SetSavepoint();
    if (!set.ok()) return Fail(error, set.status());
    *savepoint = std::bit_cast<lk_savepoint>(*set);
    return kOk;
  });
}

lk_code lk_txn_rollback_to(lk_txn txn, lk_savepoint savepoint, lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    return Report(error, transaction.RollbackTo(std::bit_cast<Savepoint>(savepoint)));
  });
}

}  // extern "C"
