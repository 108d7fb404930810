#include "engine/salvage/salvage_output.h"

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr size_t kRecordOverhead = 64;  // keeps a batch of tiny records small, too

}  // namespace

absl::Status SalvageOutput::Begin(const std::string& name) {
  LATCHKEY_RETURN_IF_ERROR(Flush());
  LATCHKEY_ASSIGN_OR_RETURN(tree_, db_.OpenTree(name));
  return absl::OkStatus();
}

absl::Status SalvageOutput::CountBytes(size_t bytes) {
  open_bytes_ += bytes + kRecordOverhead;
  return open_bytes_ < kBatchBytes ? absl::OkStatus() : Flush();
}

absl::Status SalvageOutput::Put(std::string_view key, std::string_view value) {
  if (!transaction_) transaction_.emplace(db_.Begin());
  LATCHKEY_RETURN_IF_ERROR(transaction_->Put(tree_, key, value));
  return CountBytes(key.size() + value.size());
}

absl::Status SalvageOutput::Remove(std::string_view key) {
  if (!transaction_) transaction_.emplace(db_.Begin());
  const absl::Status removed = transaction_->Delete(tree_, key);
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  return CountBytes(key.size());
}

absl::StatusOr<bool> SalvageOutput::Get(std::string_view key, std::string* value) {
  if (!transaction_) transaction_.emplace(db_.Begin());
  const absl::Status found = transaction_->Get(tree_, key, value);
  if (absl::IsNotFound(found)) return false;
  LATCHKEY_RETURN_IF_ERROR(found);
  return true;
}

absl::StatusOr<bool> SalvageOutput::Add(std::string_view key, std::string_view value) {
  if (!transaction_) transaction_.emplace(db_.Begin());
  const absl::Status put = transaction_->Insert(tree_, key, value);
  if (absl::IsAlreadyExists(put)) return false;
  LATCHKEY_RETURN_IF_ERROR(put);
  LATCHKEY_RETURN_IF_ERROR(CountBytes(key.size() + value.size()));
  return true;
}

absl::Status SalvageOutput::Flush() {
  open_bytes_ = 0;
  if (!transaction_) return absl::OkStatus();
  absl::Status committed = transaction_->Commit();
  transaction_.reset();
  return committed;
}

}  // namespace latchkey
