// UnfinishedValue: the value that a transaction writes in parts (ValueWriter in latchkey.h).
//
// The key is locked from the first call on, so the last call finds no conflict. Parts go to the pages of an overflow
// chain as they come. The record changes with the last call, as by a put.
//
//   Begin -> unfinished --Finish--> put
//                |  '--Drop, an error, the end of the transaction, RollbackTo--> the key keeps its value
//                '-Append-'
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/transaction/transaction_state.h"
#include "engine/transaction/transaction_writer.h"
#include "engine/tree_impl.h"

namespace latchkey {

class UnfinishedValue {
 public:
  UnfinishedValue(TransactionState& state, TransactionWriter& writer)
      : state_(state), writer_(writer) {}

  /// Locks `key` and begins its value. Returns the number of the value, which names it in the other
  /// calls. FailedPrecondition: another value is unfinished. Others: as Put.
  absl::StatusOr<uint64_t> Begin(TreeImpl& tree, std::string_view key);
  /// InvalidArgument: the value would be too large; it stays as it is. After another error it is over.
  absl::Status Append(uint64_t number, std::string_view part);
  /// Puts the value. Afterwards the value is over, also after an error.
  absl::Status Finish(uint64_t number);
  /// Ends the value; the key keeps the one that it has. No effect if it is over.
  void Drop(uint64_t number);

 private:
  bool is_over(uint64_t number) const {
    return number != number_ || state_.chains.unfinished() == nullptr;
  }
  absl::Status CheckUnfinished(uint64_t number) const;

  TransactionState& state_;
  TransactionWriter& writer_;
  uint64_t number_ = 0;  // of the value that was begun last
  TreeImpl* tree_ = nullptr;
  std::string key_;
};

}  // namespace latchkey
