// The contents of a database, and which of them may be found after some commits of which the
// outcome is not known.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "engine/database_impl.h"

namespace latchkey {

/// Records by tree. An empty tree and a missing one look alike: neither is here.
using FaultRecords = std::map<std::string, std::map<std::string, std::string>>;

/// What one transaction does to one record, or to the whole of a tree.
struct FaultStep {
  enum class Kind : uint8_t { kPut, kDelete, kDrop };
  Kind kind = Kind::kPut;
  std::string tree, key, value;
};

/// Everything that a new transaction sees in `db`.
absl::StatusOr<FaultRecords> ReadRecords(DatabaseImpl& db);
/// In what the two differ, for messages.
std::string DescribeDifference(const FaultRecords& expected, const FaultRecords& found);

/// Not thread-safe.
class FaultOracle {
 public:
  explicit FaultOracle(FaultRecords records) : possible_{std::move(records)} {}

  /// Acknowledged, all of it.
  void Commit(const std::vector<FaultStep>& steps);
  /// Acknowledged, but an open may find what was before, until Promise.
  void CommitForNow(const std::vector<FaultStep>& steps);
  /// Whole or absent.
  void MayCommit(const std::vector<FaultStep>& steps);
  /// What was acknowledged is durable.
  void Promise() { older_.clear(); }

  /// What a reader of the open database may see.
  bool Accepts(const FaultRecords& found) const;
  /// What the next open may find.
  bool AcceptsAtOpen(const FaultRecords& found) const;
  /// Why `found` is not accepted.
  std::string Explain(const FaultRecords& found) const;
  /// The newest contents: those with everything that may be there.
  const FaultRecords& newest() const { return possible_.back(); }

 private:
  std::vector<FaultRecords> possible_;
  std::vector<FaultRecords> older_;
};

}  // namespace latchkey
