#include "engine/log/checkpoint_records.h"

#include <algorithm>
#include <span>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// The chains whose transactions have committed.
std::vector<OverflowChain> Superseded(const std::vector<PendingChain>& pending,
                                      const std::vector<ActiveTransaction>& transactions) {
  std::vector<uint64_t> active;
  active.reserve(transactions.size());
  for (const ActiveTransaction& txn : transactions) active.push_back(Raw(txn.id));
  std::sort(active.begin(), active.end());
  std::vector<OverflowChain> chains;
  for (const PendingChain& chain : pending) {
    if (std::binary_search(active.begin(), active.end(), Raw(chain.by))) continue;
    chains.push_back(chain.chain);
  }
  return chains;
}

}  // namespace

CheckpointSnapshot CheckpointRecords::Snapshot() {
  CheckpointSnapshot snapshot;
  std::vector<PendingChain> pending;
  log_.Frozen([&](Lsn next) {
    snapshot.as_of = next;
    images_.BeginCheckpoint(next);
    snapshot.transactions = active_.List();
    snapshot.redo_from = frees_under_way_.Oldest().value_or(next);
    pending = chains_.List();
  });
  snapshot.chains = Superseded(pending, snapshot.transactions);
  return snapshot;
}

absl::StatusOr<CheckpointSnapshot> CheckpointRecords::LogCheckpoint(
    absl::FunctionRef<TxnId()> next_txn) {
  LATCHKEY_RETURN_IF_ERROR(health_.FailUnlessWritable());
  CheckpointSnapshot snapshot = Snapshot();
  const size_t limit = std::min<size_t>(log_.max_record_bytes(), 64u << 10);
  const size_t per_part = (limit - CheckpointRecordSize(0, 0)) / CheckpointRecordSize(1, 0);
  const size_t all = snapshot.transactions.size() + snapshot.chains.size();
  const size_t parts = std::max<size_t>(1, (all + per_part - 1) / per_part);
  if (parts > UINT16_MAX) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "a checkpoint of {} waiting overflow chains does not fit: end the oldest "
                      "transactions, so that old versions can go",
                      snapshot.chains.size());
  }
  LATCHKEY_RETURN_IF_ERROR(AppendParts(snapshot,
                                       {.as_of = snapshot.as_of,
                                        .next_txn = next_txn(),
                                        .part = 0,
                                        .parts = static_cast<uint16_t>(parts)},
                                       per_part));
  return snapshot;
}

absl::Status CheckpointRecords::AppendParts(const CheckpointSnapshot& snapshot, CheckpointPart part,
                                            size_t entries_per_part) {
  std::span<const ActiveTransaction> transactions = snapshot.transactions;
  std::span<const OverflowChain> chains = snapshot.chains;
  for (; part.part < part.parts; ++part.part) {
    const size_t t = std::min(entries_per_part, transactions.size());
    const size_t c = std::min(entries_per_part - t, chains.size());
    const size_t size = CheckpointRecordSize(t, c);
    LATCHKEY_RETURN_IF_ERROR(log_.ReserveUrgent(log_.RecordSpace(size)));
    log_.Append(size, [&](Lsn, std::byte* to) {
      EncodeCheckpoint(part, transactions.first(t), chains.first(c), to);
    });
    transactions = transactions.subspan(t);
    chains = chains.subspan(c);
  }
  return absl::OkStatus();
}

}  // namespace latchkey
