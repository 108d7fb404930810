// Dumping a database into a stream and loading one from it.
//
// A load proves the whole dump before it touches the database: a malformed one leaves it as it was.
// Then records go in by batches, and each batch, in the same transaction, notes how far the load
// has come in a tree of its own (kLoadTree). So a load that was interrupted goes on exactly where
// its last durable batch ended, when the same content is given again.
//
// Thread-safety: one load at a time, with no other writers.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "engine/latchkey.h"
#include "tools/cli/db_dump_format.h"

namespace latchkey {

/// The tree that exists while a load is under way or was interrupted. Never dumped.
inline constexpr char kLoadTree[] = "latchkey.load";

struct TransferHooks {
  /// Ends the work with Cancelled once true.
  const std::atomic<bool>* stop = nullptr;
  /// Records of a dump, bytes of a load.
  std::function<void(uint64_t)> progress;
};

/// Every tree and record, as of one moment. Only `tree` when it is not empty.
absl::StatusOr<DumpSummary> DumpDatabase(Database& db, const std::string& tree, DumpForm form,
                                         ByteSink& sink, const TransferHooks& hooks);

/// Proves a dump and tells what it holds. Errors as ReadDump says.
absl::StatusOr<DumpSummary> ValidateDump(ByteSource& source, const TransferHooks& hooks);

enum class LoadStart {
  kFresh,    ///< FailedPrecondition when a load was interrupted
  kResume,   ///< goes on with an interrupted one; FailedPrecondition when that was of another dump
  kRestart,  ///< begins again; what an interrupted one put in stays or is replaced
};

/// How far an interrupted load came.
struct LoadProgress {
  uint64_t digest = 0;
  uint64_t records = 0;  ///< in the database
  uint64_t total = 0;
};
absl::StatusOr<std::optional<LoadProgress>> FindInterruptedLoad(Database& db);

struct LoadOptions {
  LoadStart start = LoadStart::kFresh;
  uint64_t batch_bytes = uint64_t{1} << 20;  ///< of keys and values in one transaction
};

/// Puts the records of a dump that ValidateDump has proven (`validated`) into their trees: new keys
/// are added, existing ones replaced. Returns how many records were put by this call. Cancelled and
/// every other error leave a load that can be resumed.
absl::StatusOr<uint64_t> LoadDump(Database& db, ByteSource& source, const DumpSummary& validated,
                                  const LoadOptions& options, const TransferHooks& hooks);

}  // namespace latchkey
