// BulkLoadImpl: one bulk load behind the public class BulkLoader.
//
// Records become leaves, and the leaves' fences and ids become inner pages, level by level, from left
// to right (bulk_level.h). The pages go past pool and log (bulk_pages.h). The end is one log record
// that enters the tree in the catalogue and ends the load's transaction.
//
//   Put* -> Finish: last pages -> all pages durable -> record (tree entered, load ended) -> durable
//     '--> End (destroyed, or the database closes): pages freed, kEnd
//
// Thread-safety: one actor at a time. BulkLoads: every actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/bulk/bulk_level.h"
#include "engine/bulk/bulk_pages.h"
#include "engine/catalog.h"
#include "engine/database_identity.h"
#include "engine/latchkey.h"
#include "engine/log/engine_log.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class BulkLoads;

/// What a load uses of its database.
struct BulkLoadContext {
  BufferPool& pool;
  EngineLog* log = nullptr;  ///< nullptr = nothing is logged
  const DatabaseIdentity& identity;
  BulkLoads& loads;
  /// Enters the tree and ends `load` (Catalog::AddLoadedTree), and makes that durable. `*entered`:
  /// the tree was entered, also if the call fails.
  std::function<absl::StatusOr<TreeImpl*>(std::string_view name, const LoadedTree& loaded,
                                          LogTxn& load, bool* entered)>
      enter;
};

class BulkLoadImpl {
 public:
  /// `id`: of the load's transaction. `fill`: see BulkLoadOptions.
  BulkLoadImpl(BulkLoadContext context, TxnId id, std::string_view name, double fill);
  ~BulkLoadImpl();

  /// As the functions of BulkLoader.
  absl::Status Put(std::string_view key, std::string_view value);
  absl::StatusOr<Tree> Finish();
  uint64_t records() const { return records_; }

  /// Frees everything and answers every later call with `why`. No effect once the load is over.
  void End(absl::Status why);
  /// As End, but frees nothing: for a database that is abandoned as it is.
  void Disown();

 private:
  absl::Status CheckUsable() const;
  absl::Status CheckRecord(std::string_view key, std::string_view value) const;
  absl::Status Add(std::string_view key, std::string_view value);
  absl::Status AddEntry(size_t level, const BulkEntry& entry);
  /// Makes a page of the first `count` entries of `level`. `next`: the key behind all entries;
  /// nullopt = there will be none.
  absl::Status ClosePage(size_t level, size_t count, std::optional<std::string_view> next);
  absl::StatusOr<PageId> CloseLevels();
  absl::StatusOr<Tree> Complete();
  void Leave();

  const BulkLoadContext context_;
  const std::string name_;
  const uint32_t page_size_;
  const uint32_t limit_;
  LogTxn txn_;
  BulkPages pages_;
  std::vector<BulkLevel> levels_;
  std::string last_key_;
  uint64_t records_ = 0;
  bool names_chains_ = false;
  absl::Status over_;  // not OK: the load has ended
  bool listed_ = false;
};

/// The loads that are not over, for the close of their database; and the pages of loads that end
/// while a backup runs. The log does not hold these pages, and the backup may have passed their ids.
class BulkLoads {
 public:
  using Runs = std::vector<BulkPages::Run>;

  explicit BulkLoads(Runtime& runtime) : mutex_(runtime), ends_(runtime) {}

  void Enter(BulkLoadImpl* load);
  void Leave(BulkLoadImpl* load);
  /// Calls `visit` for each. It may end the load, and must not wait for another actor's call.
  void VisitAll(absl::FunctionRef<void(BulkLoadImpl&)> visit);

  /// The load's pages are durable, and its tree is about to be entered. Waits while a backup takes its
  /// last runs.
  void NoteEnd(std::span<const BulkPages::Run> runs);
  /// Notes the runs of loads from now on. One backup at a time.
  void StartNoting();
  void StopNoting();
  /// The runs noted since the last call.
  Runs TakeNoted();
  /// Calls `last(runs)` with the runs noted since. No tree of a load is entered meanwhile, unless its
  /// runs were taken. `last` may take the checkpoint's mutex and wait for the device.
  absl::Status TakeLast(absl::FunctionRef<absl::Status(const Runs&)> last);

 private:
  Mutex mutex_;
  std::vector<BulkLoadImpl*> loads_;  // guarded by mutex_
  Mutex ends_;                        // before every other lock of the database
  bool notes_ = false;                // guarded by ends_, as is noted_
  Runs noted_;
};

}  // namespace latchkey
