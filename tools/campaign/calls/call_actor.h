// One caller of the calls campaign: random public calls on a few keys, with odd sizes.
//
// All callers write the same few keys of the shared tree. Each caller also has a tree of its own,
// which it drops and makes again now and then. Its CallOracle knows the contents of this tree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/rng.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/calls/call_life.h"
#include "tools/campaign/calls/call_oracle.h"

namespace latchkey {

/// Used by one actor at a time.
class CallActor {
 public:
  CallActor(Runtime& runtime, Database& db, Tree shared, uint64_t seed, uint32_t number,
            const CallLifePlan& plan);

  void Run();
  /// Compares the tree of this caller in `db` with its oracle.
  void CompareWith(Database& db, CallCounts* counts) const;
  const CallCounts& counts() const { return counts_; }

 private:
  struct Session;  // a transaction and its changes

  void OneCall();
  void CallOutside();
  void CallWithTrees();
  void CallOnDatabase();
  void CallWithOddArguments();
  void WriteBatchOutside();
  void RunTransaction();
  void StepOf(Session& session);
  void WriteIn(Session& session);
  std::optional<absl::Status> PutInParts(Session& session, Tree tree, const std::string& key,
                                         std::string_view value);
  void PartIn(Session& session, Tree tree, const std::string& key);
  void WalkIn(Session& session);
  void SavepointIn(Session& session);
  void End(Session& session);
  void EndBelowCursor(Session& session);

  /// Counts the result of `call`. Returns whether it is OK.
  bool Note(const char* call, const absl::Status& status);
  void Wrong(const std::string& what);
  void CompareOwn(const char* call, const std::string& key, const absl::Status& status,
                  const std::string& value, const CallChanges* changes);
  /// Tells the oracle the outcome of a single write outside a transaction.
  void Settle(const absl::Status& status, const CallChanges& changes);
  bool OpenOwn();

  std::string DrawKey();
  std::string DrawValue();
  bool DrawOwn() { return own_.valid() && rng_.Below(plan_.is_hot ? 20 : 3) == 0; }
  Tree TreeFor(bool own) const { return own ? own_ : shared_; }

  Runtime& runtime_;
  Database& db_;
  const Tree shared_;
  Tree own_;
  const std::string own_name_;
  Rng rng_;
  const CallLifePlan& plan_;
  CallOracle oracle_;
  CallCounts counts_;
};

}  // namespace latchkey
