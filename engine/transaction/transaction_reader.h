// The reads of a transaction.
//
// A read finds its leaf without a latch, copies the record, and validates the copy. If the snapshot
// does not see every transaction up to the leaf's mark, the version store says which value to take.
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/transaction/transaction_rollback.h"
#include "engine/transaction/transaction_state.h"
#include "engine/tree_impl.h"

namespace latchkey {

class TransactionReader {
 public:
  /// The tree and the key of the i-th of some announced keys. nullptr: no key.
  using KeyAt = absl::FunctionRef<std::pair<TreeImpl*, std::string_view>(size_t i)>;

  TransactionReader(TransactionState& state, TransactionRollback& rollback)
      : state_(state), rollback_(rollback) {}

  /// NotFound: the key has no value. Aborted: the transaction is over.
  absl::Status Get(TreeImpl& tree, std::string_view key, std::string* value);
  /// As Get, of up to `size` bytes of the value from byte `offset` on. *value_size: of the value.
  absl::Status GetPart(TreeImpl& tree, std::string_view key, uint64_t offset, size_t size,
                       std::string* part, uint64_t* value_size);
  /// Reads the value behind an overflow reference that a read of this transaction has found.
  /// Aborted: the snapshot has expired, and the transaction is over.
  absl::Status ReadChain(std::string_view reference, std::string* value);
  /// Ends the transaction because its snapshot has expired. Returns Aborted.
  absl::Status AbortForAge() { return rollback_.Abort(SnapshotTooOld()); }

  /// Brings the leaves of `count` keys into the cache. On each tree level the reads for all keys
  /// are in flight together. With FixMode::kLatched it asks less often while all pages turn out to
  /// be resident (PrefetchGauge), because each descent latches pages.
  void Prefetch(size_t count, KeyAt key_at);
  /// Prefetch for keys that are written next. A load in key order writes them into one leaf, which the
  /// first write brings: then it does nothing.
  void PrefetchToWrite(size_t count, KeyAt key_at) {
    if (!AscendInOneLeaf(count, key_at)) Prefetch(count, key_at);
  }

 private:
  /// Copies the value of `key` to *value. If the value lies in an overflow chain, copies the reference
  /// to the chain instead, and returns what `follow()` returns.
  template <typename Follow>
  absl::Status Read(TreeImpl& tree, std::string_view key, std::string* value, Follow follow);
  /// Runs `read(overflow store)` while no chain that the snapshot sees can be freed.
  template <typename ReadHeld>
  absl::Status WithChains(ReadHeld read);
  /// Finds the leaf that covers `key` and the key's position. Returns whether the leaf was a known
  /// one.
  absl::StatusOr<bool> FindRecord(PoolActor& actor, TreeImpl& tree, std::string_view key,
                                  KnownLeaf* found);
  /// The same with the leaf latched in `held`, so that the pool cannot evict it.
  absl::StatusOr<bool> HoldRecord(PoolActor& actor, TreeImpl& tree, std::string_view key,
                                  KnownLeaf* found, SharedGuard* held);
  /// For keys whose leaves are resident: brings translations, pages and records from memory into
  /// the processor's cache. The cache misses of all keys overlap; key by key each miss would be
  /// waited for alone. Appends the first missing page on the way to each other key to *missing.
  /// REQUIRES: FixMode::kOptimistic. With latches an actor would hold many of them at once.
  void WarmLeaves(PoolActor& actor, size_t count, KeyAt key_at, MissingPages* missing);
  /// *missing: the first missing page on the way to each key.
  void FindMissing(PoolActor& actor, size_t count, KeyAt key_at, MissingPages* missing);
  bool AscendInOneLeaf(size_t count, KeyAt key_at);

  TransactionState& state_;
  TransactionRollback& rollback_;
  std::string scratch_;
};

}  // namespace latchkey
