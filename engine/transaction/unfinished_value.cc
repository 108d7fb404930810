#include "engine/transaction/unfinished_value.h"

#include "engine/btree/node.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status UnfinishedValue::CheckUnfinished(uint64_t number) const {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckActive());
  if (!is_over(number)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the value in parts is over: it was finished or given up, or a rollback or an error has "
      "ended it; begin another "
      "one with PutInParts");
}

absl::StatusOr<uint64_t> UnfinishedValue::Begin(TreeImpl& tree, std::string_view key) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  if (state_.chains.unfinished() != nullptr) {
    return absl::FailedPreconditionError(
        "the transaction has another value in parts that is not finished: call its Finish, or "
        "destroy its ValueWriter");
  }
  LATCHKEY_RETURN_IF_ERROR(CheckKey(key));
  std::string copy(key);
  LATCHKEY_RETURN_IF_ERROR(writer_.LockKey(tree, key));
  LATCHKEY_RETURN_IF_ERROR(state_.chains.Begin());
  tree_ = &tree;
  key_ = std::move(copy);
  return ++number_;
}

absl::Status UnfinishedValue::Append(uint64_t number, std::string_view part) {
  LATCHKEY_RETURN_IF_ERROR(CheckUnfinished(number));
  const uint64_t size = state_.chains.unfinished()->size();
  if (part.size() > Database::kMaxValueSize - size) {
    return InvalidArgument("{} more bytes after {} are too many: values have 0 to {} bytes",
                           part.size(), size, Database::kMaxValueSize);
  }
  return state_.chains.Append(part);
}

absl::Status UnfinishedValue::Finish(uint64_t number) {
  LATCHKEY_RETURN_IF_ERROR(CheckUnfinished(number));
  const ChainBuilder& value = *state_.chains.unfinished();
  if (value.pages().empty() &&
      value.size() <= MaxInlineValue(tree_->btree.page_size(), key_.size())) {
    const std::string small(value.unwritten());
    state_.chains.DropUnfinished();
    return writer_.Put(*tree_, key_, small);
  }
  if (absl::Status noted = writer_.NoteChains(*tree_); !noted.ok()) {
    state_.chains.DropUnfinished();
    return noted;
  }
  LATCHKEY_ASSIGN_OR_RETURN(const OverflowReference chain, state_.chains.Finish());
  return writer_.PutChain(*tree_, key_, chain);
}

void UnfinishedValue::Drop(uint64_t number) {
  if (state_.txn.active() && !is_over(number)) state_.chains.DropUnfinished();
}

}  // namespace latchkey
