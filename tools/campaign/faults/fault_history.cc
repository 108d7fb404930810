#include "tools/campaign/faults/fault_history.h"

#include <utility>

namespace latchkey {

FaultHistory::FaultHistory(FaultRecords beginning)
    : beginning_(std::move(beginning)), now_(beginning_) {}

size_t FaultHistory::Submit(uint64_t position, std::vector<FaultStep> steps) {
  Transaction transaction;
  transaction.steps = std::move(steps);
  transaction.submitted_at = position;
  transactions_.push_back(std::move(transaction));
  return transactions_.size() - 1;
}

void FaultHistory::Answer(size_t number, uint64_t position, CommitAnswer answer) {
  transactions_[number].answered_at = position;
  transactions_[number].answer = answer;
  events_.push_back({position, number});
  Apply(events_.back(), &now_);
}

void FaultHistory::Promise(uint64_t position) {
  events_.push_back({.position = position});
  Apply(events_.back(), &now_);
}

void FaultHistory::Apply(const Event& event, FaultOracle* oracle) const {
  if (event.transaction == Event::kPromise) return oracle->Promise();
  const Transaction& transaction = transactions_[event.transaction];
  switch (transaction.answer) {
    case CommitAnswer::kDurable:
      return oracle->Commit(transaction.steps);
    case CommitAnswer::kForNow:
      return oracle->CommitForNow(transaction.steps);
    case CommitAnswer::kUnknown:
      return oracle->MayCommit(transaction.steps);
    case CommitAnswer::kRefused:
      return;
  }
}

FaultOracle FaultHistory::At(uint64_t position) const {
  FaultOracle oracle(beginning_);
  for (const Event& event : events_) {
    if (event.position <= position) Apply(event, &oracle);
  }
  for (const Transaction& transaction : transactions_) {
    const bool in_flight =
        transaction.submitted_at < position && transaction.answered_at > position;
    // The disks cannot hold a commit that was refused later.
    if (in_flight && transaction.answer != CommitAnswer::kRefused) {
      oracle.MayCommit(transaction.steps);
    }
  }
  return oracle;
}

}  // namespace latchkey
