// The public calls that read and write values in parts.
#include <utility>

#include "engine/latchkey.h"
#include "engine/public_calls.h"
#include "engine/transaction_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status Transaction::GetPart(Tree tree, std::string_view key, uint64_t offset, size_t size,
                                  std::string* part, uint64_t* value_size) {
  if (impl_ == nullptr) return Refusal();
  if (NeedsReadApart(key, part)) {
    return ReadApart(key, part, [&](std::string_view copy) {
      return GetPart(tree, copy, offset, size, part, value_size);
    });
  }
  uint64_t whole = 0;
  LATCHKEY_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kGet, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.GetPart(found, key, offset, size, part, &whole);
    });
  }));
  if (value_size != nullptr) *value_size = whole;
  return absl::OkStatus();
}

ValueWriter Transaction::PutInParts(Tree tree, std::string_view key) {
  if (impl_ == nullptr) return ValueWriter(Refusal());
  uint64_t number = 0;
  absl::Status begun = CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TransactionImpl& transaction, TreeImpl& found) -> absl::Status {
      LATCHKEY_ASSIGN_OR_RETURN(number, transaction.unfinished_value().Begin(found, key));
      return absl::OkStatus();
    });
  });
  return begun.ok() ? ValueWriter(impl_, number) : ValueWriter(std::move(begun));
}

// ---- ValueWriter

ValueWriter::ValueWriter(absl::Status refusal) : refusal_(std::move(refusal)) {}
ValueWriter::ValueWriter(std::shared_ptr<TransactionImpl> transaction, uint64_t number)
    : transaction_(std::move(transaction)), number_(number) {}
ValueWriter::~ValueWriter() { GiveUp(); }
ValueWriter::ValueWriter(ValueWriter&& other) noexcept
    : transaction_(std::move(other.transaction_)),
      number_(other.number_),
      refusal_(std::exchange(other.refusal_, absl::OkStatus())) {}
ValueWriter& ValueWriter::operator=(ValueWriter&& other) noexcept {
  if (this == &other) return *this;
  GiveUp();
  transaction_ = std::move(other.transaction_);
  number_ = other.number_;
  refusal_ = std::exchange(other.refusal_, absl::OkStatus());
  return *this;
}

void ValueWriter::GiveUp() {
  if (transaction_ == nullptr || !transaction_->is_usable()) return;
  transaction_->unfinished_value().Drop(number_);
}

absl::Status ValueWriter::status() const {
  if (transaction_ != nullptr) return absl::OkStatus();
  return refusal_.ok() ? MovedFrom("ValueWriter") : refusal_;
}

absl::Status ValueWriter::Append(std::string_view part) {
  if (transaction_ == nullptr) return status();
  return Guarded(*transaction_, [&](TransactionImpl& transaction) {
    return transaction.unfinished_value().Append(number_, part);
  });
}

absl::Status ValueWriter::Finish() {
  if (transaction_ == nullptr) return status();
  return Guarded(*transaction_, [&](TransactionImpl& transaction) {
    return transaction.sampled().Measure(
        Timed::kPut, [&] { return transaction.unfinished_value().Finish(number_); });
  });
}

}  // namespace latchkey
