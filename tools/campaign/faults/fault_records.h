// The contents of a database, and an oracle for them when the outcome of some commits is unknown.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <vector>

#include "engine/database_impl.h"

namespace latchkey {

/// Records by tree. Empty and missing trees are equal: neither has an entry.
using FaultRecords = std::map<std::string, std::map<std::string, std::string>>;

/// Change of one record, or of a whole tree, by one transaction.
struct FaultStep {
  enum class Kind : uint8_t { kPut, kDelete, kDrop };
  Kind kind = Kind::kPut;
  std::string tree, key, value;
};

/// All records that a new transaction sees in `db`.
absl::StatusOr<FaultRecords> ReadRecords(DatabaseImpl& db);
/// The difference of the two, for messages.
std::string DescribeDifference(const FaultRecords& expected, const FaultRecords& found);

/// Not thread-safe.
class FaultOracle {
 public:
  explicit FaultOracle(FaultRecords records) : possible_{std::move(records)} {}

  /// The transaction is acknowledged.
  void Commit(const std::vector<FaultStep>& steps);
  /// The transaction is acknowledged, but until Promise an open may find the contents before it.
  void CommitForNow(const std::vector<FaultStep>& steps);
  /// The outcome is unknown: the transaction is whole or absent.
  void MayCommit(const std::vector<FaultStep>& steps);
  /// All acknowledged transactions are durable.
  void Promise() { older_.clear(); }

  /// Whether a reader of the open database may see `found`.
  bool Accepts(const FaultRecords& found) const;
  /// Whether the next open may find `found`.
  bool AcceptsAtOpen(const FaultRecords& found) const;
  /// The reason why `found` is not accepted.
  std::string Explain(const FaultRecords& found) const;
  /// The newest possible contents: all uncertain commits included.
  const FaultRecords& newest() const { return possible_.back(); }

 private:
  std::vector<FaultRecords> possible_;
  std::vector<FaultRecords> older_;
};

}  // namespace latchkey
