// lk_txn_get_part and lk_txn_put_*: values in parts.
#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

lk_code NoValue(lk_error* error) {
  return Fail(error, LK_FAILED_PRECONDITION,
              "the transaction has no value in parts: call lk_txn_put_begin first");
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_txn_get_part(lk_txn txn, lk_tree tree, lk_bytes key, uint64_t offset, size_t size,
                        lk_value* part, uint64_t* value_size, lk_error* error) {
  return WithTransaction(txn, error, [&](OpenTransaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return ReadInto(part, error, [&](std::string* text) {
      return transaction.GetPart(TreeOf(tree), ViewOf(key), offset, size, text, value_size);
    });
  });
}

lk_code lk_txn_put_begin(lk_txn txn, lk_tree tree, lk_bytes key, lk_error* error) {
  return WithTransaction(txn, error, [&](OpenTransaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    ValueWriter value = transaction.PutInParts(TreeOf(tree), ViewOf(key));
    const absl::Status begun = value.status();
    if (!begun.ok()) return Fail(error, begun);
    transaction.value.emplace(std::move(value));
    return kOk;
  });
}

lk_code lk_txn_put_append(lk_txn txn, lk_bytes part, lk_error* error) {
  return WithTransaction(txn, error, [&](OpenTransaction& transaction) {
    if (!transaction.value.has_value()) return NoValue(error);
    if (!IsReadable(part)) return FailUnreadable(error, "the part");
    return Report(error, transaction.value->Append(ViewOf(part)));
  });
}

lk_code lk_txn_put_finish(lk_txn txn, lk_error* error) {
  return WithTransaction(txn, error, [&](OpenTransaction& transaction) {
    if (!transaction.value.has_value()) return NoValue(error);
    const absl::Status finished = transaction.value->Finish();
    transaction.value.reset();
    return Report(error, finished);
  });
}

lk_code lk_txn_put_give_up(lk_txn txn, lk_error* error) {
  return WithTransaction(txn, error, [&](OpenTransaction& transaction) {
    transaction.value.reset();
    return kOk;
  });
}

}  // extern "C"
