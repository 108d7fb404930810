// The commits of a life in the order of their answers, each with the number of device events at
// that moment. From them follow the contents that a power loss at any event may leave.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/campaign/faults/fault_records.h"

namespace latchkey {

/// Answer of a commit.
enum class CommitAnswer : uint8_t {
  kDurable,  ///< acknowledged, and no power loss may undo it
  kForNow,   ///< acknowledged; until the next promise a power loss may undo it
  kUnknown,  ///< the transaction is whole or absent
  kRefused,  ///< the transaction is absent
};

/// Not thread-safe. Positions are numbers of recorded events and never decrease from call to call.
class FaultHistory {
 public:
  explicit FaultHistory(FaultRecords beginning);

  /// A transaction with these changes is about to commit. Returns its number.
  size_t Submit(uint64_t position, std::vector<FaultStep> steps);
  /// The commit has this answer. REQUIRES: once for each submission.
  void Answer(size_t number, uint64_t position, CommitAnswer answer);
  /// All acknowledged transactions are durable.
  void Promise(uint64_t position);

  /// The oracle of the moment after the last call.
  const FaultOracle& now() const { return now_; }
  /// The oracle of an open after a power loss at `position`. Submissions without an answer at that
  /// event are whole or absent, in any order after the answered ones.
  FaultOracle At(uint64_t position) const;

 private:
  struct Transaction {
    std::vector<FaultStep> steps;
    uint64_t submitted_at = 0;
    uint64_t answered_at = UINT64_MAX;
    CommitAnswer answer = CommitAnswer::kUnknown;
  };
  /// An answer or a promise.
  struct Event {
    static constexpr size_t kPromise = SIZE_MAX;
    uint64_t position = 0;
    size_t transaction = kPromise;
  };
  void Apply(const Event& event, FaultOracle* oracle) const;

  const FaultRecords beginning_;
  std::vector<Transaction> transactions_;
  std::vector<Event> events_;
  FaultOracle now_;
};

}  // namespace latchkey
