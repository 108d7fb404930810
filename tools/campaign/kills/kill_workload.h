// The work of the children on their store. A transaction is a function of (seed, thread, sequence
// number) alone. So the oracle is three numbers for each thread, and the number of transactions of
// each thread determines the contents of a store.
//
//   tree "rows"    KEY number/thread          of all threads, neighbours in the leaves
//   tree "notes"   head/thread                the thread's newest transaction, which wrote it
//                  ticket                     number of tickets that all threads have taken
//                  order/(ticket mod kTickets)  its owner: "ticket thread sequence"
//   tree "passing" made, filled with one batch and dropped again
//
// One lock guards the tickets, so they give the order of commits across threads. If a store has a
// ticket but not the one before it, it has lost a commit on which another one depends.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

inline constexpr uint64_t kTickets = 64;

struct KillWrite {
  std::string key;
  std::optional<std::string> value;  ///< nullopt: deleted, if it is there
};

struct KillTransaction {
  bool takes_ticket = false;
  bool is_batch = false;  ///< through Database::Write
  std::vector<KillWrite> writes;
  /// Writes before it, in a transaction that is rolled back.
  std::vector<KillWrite> rolled_back;
  /// Writes in it, after a savepoint to which it returns.
  std::vector<KillWrite> in_vain;
};

/// Transaction number `sequence` (from 1) of a thread.
KillTransaction MakeKillTransaction(uint64_t seed, uint32_t thread, uint64_t sequence);

/// Rows of one thread after a number of its transactions. Not thread-safe.
class KillThreadModel {
 public:
  KillThreadModel(uint64_t seed, uint32_t thread) : seed_(seed), thread_(thread) {}

  /// REQUIRES: `sequence` >= sequence().
  void AdvanceTo(uint64_t sequence);
  void Apply(const KillTransaction& transaction);
  uint64_t sequence() const { return sequence_; }
  uint64_t tickets() const { return tickets_; }
  const std::map<std::string, std::string>& rows() const { return rows_; }

 private:
  uint64_t seed_;
  uint32_t thread_;
  uint64_t sequence_ = 0, tickets_ = 0;
  std::map<std::string, std::string> rows_;
};

struct KillTrees {
  Tree rows, notes;
};
absl::StatusOr<KillTrees> OpenKillTrees(Database& db);

std::string KillHeadKey(uint32_t thread);
/// Takes the next ticket for transaction `sequence` of `thread`. The transaction keeps the lock
/// until its end.
absl::Status TakeTicket(Transaction& transaction, Tree notes, uint32_t thread, uint64_t sequence);
/// Makes the tree "passing", fills it with one batch and drops it.
absl::Status MakeAndDropTree(Database& db);

/// The rows of a tree, in their order row i with the key key_of(i) and the value value_of(i); nullopt:
/// there is no such tree. Internal names a row that differs.
absl::StatusOr<std::optional<uint32_t>> CountRows(
    Database& db, std::string_view name, absl::FunctionRef<std::string(uint32_t)> key_of,
    absl::FunctionRef<std::string(uint32_t)> value_of);

/// The transactions of a thread that a store may hold: promised <= found <= submitted.
struct KillBounds {
  uint64_t promised = 0, submitted = 0;
};

/// Advances the model to the transactions found, compares all of the store with it, and lets the
/// store check itself. Internal: the contents are wrong; other codes: an error of the store.
absl::Status CheckKillStore(Database& db, const KillTrees& trees, uint64_t seed,
                            std::span<const KillBounds> bounds,
                            std::vector<KillThreadModel>& models);

}  // namespace latchkey
