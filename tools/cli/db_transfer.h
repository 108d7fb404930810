// Dumps a database into a stream, and loads a database from one.
//
// A load checks the whole dump before it changes the database: a malformed dump changes nothing.
// Then the load puts the records in batches. Each batch is one transaction, which also notes the
// progress in a tree of its own (kLoadTree). So an interrupted load that gets the same content
// again continues exactly after its last durable batch.
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

/// The tree that exists while a load is in progress or was interrupted. Never dumped.
inline constexpr char kLoadTree[] = "latchkey.load";

struct TransferHooks {
  /// Once true, the work ends with Cancelled.
  const std::atomic<bool>* stop = nullptr;
  /// Progress: records of a dump, bytes of a load.
  std::function<void(uint64_t)> progress;
};

/// Dumps every tree and record of one snapshot. If `tree` is not empty, only this tree.
absl::StatusOr<DumpSummary> DumpDatabase(Database& db, const std::string& tree, DumpForm form,
                                         ByteSink& sink, const TransferHooks& hooks);

/// Checks a dump and returns its content in numbers. Errors as ReadDump.
absl::StatusOr<DumpSummary> ValidateDump(ByteSource& source, const TransferHooks& hooks);

enum class LoadStart {
  kFresh,    ///< FailedPrecondition when a load was interrupted
  kResume,   ///< continues an interrupted one; FailedPrecondition when that was of another dump
  kRestart,  ///< begins again; records of an interrupted load stay or are replaced
};

/// Progress of an interrupted load.
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

/// Puts the records of a dump that ValidateDump has checked (`validated`) into their trees: adds
/// new keys and replaces existing ones. Returns the number of records put by this call. After
/// Cancelled or any other error the load can be resumed.
absl::StatusOr<uint64_t> LoadDump(Database& db, ByteSource& source, const DumpSummary& validated,
                                  const LoadOptions& options, const TransferHooks& hooks);

}  // namespace latchkey
