// What the children of the kill campaign do to their store: transactions that are a function of
// (seed, thread, sequence number) alone. So the oracle is three numbers for each thread, and the
// contents of a store are known from how many transactions of each thread it has.
//
//   tree "rows"    KEY number/thread          of all threads, neighbours in the leaves
//   tree "notes"   head/thread                the newest transaction of the thread, written by it
//                  ticket                     how many transactions of all threads took a ticket
//                  order/(ticket mod kTickets)  who took it: "ticket thread sequence"
//   tree "passing" made, filled with one batch and dropped again
//
// Tickets are taken under one lock, so they tell the order of commits across threads: a store that
// has a ticket without one before it has lost a commit that another one rests on.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
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
  /// Before it, in a transaction that is rolled back.
  std::vector<KillWrite> rolled_back;
  /// In it, behind a savepoint to which it returns.
  std::vector<KillWrite> in_vain;
};

/// Transaction number `sequence` (from 1) of a thread.
KillTransaction MakeKillTransaction(uint64_t seed, uint32_t thread, uint64_t sequence);

/// Rows of one thread after so many of its transactions. Not thread-safe.
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
/// Takes the next ticket for transaction `sequence` of `thread`, with the lock until its end.
absl::Status TakeTicket(Transaction& transaction, Tree notes, uint32_t thread, uint64_t sequence);
/// Makes the tree "passing", fills it with one batch and drops it.
absl::Status MakeAndDropTree(Database& db);

/// What may be found of a thread: promised <= found <= submitted.
struct KillBounds {
  uint64_t promised = 0, submitted = 0;
};

/// Compares all of the store with the model, which is advanced to what was found, and has the store
/// check itself. Internal: it does not hold what it must; other codes: the store's own error.
absl::Status CheckKillStore(Database& db, const KillTrees& trees, uint64_t seed,
                            std::span<const KillBounds> bounds,
                            std::vector<KillThreadModel>& models);

}  // namespace latchkey
