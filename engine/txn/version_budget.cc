#include "engine/txn/version_budget.h"

namespace latchkey {
namespace {

// Read sets together may take a kReadsShare-th of the bound.
constexpr uint64_t kReadsShare = 4;
// The account of read sets changes in steps of at least this many bytes.
constexpr uint64_t kReadsStep = 4096;

}  // namespace

void VersionBudget::ChargeReads(Txn& txn) {
  const uint64_t grown = txn.reads()->bytes() - txn.charged_read_bytes_ + kReadsStep;
  const uint64_t total = read_set_bytes_.fetch_add(grown, std::memory_order_relaxed) + grown;
  txn.charged_read_bytes_ += grown;
  const uint64_t bound = this->bound();
  if (bound == 0 || total <= bound / kReadsShare || grown == txn.charged_read_bytes_) return;
  txn.reads()->Coarsen();
  ReleaseReads(txn);
}

void VersionBudget::ReleaseReads(Txn& txn) {
  if (txn.charged_read_bytes_ == 0) return;
  read_set_bytes_.fetch_sub(txn.charged_read_bytes_, std::memory_order_relaxed);
  txn.charged_read_bytes_ = 0;
}

}  // namespace latchkey
