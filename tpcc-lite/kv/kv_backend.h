// KvBackend: the ordered transactional key/value interface that TPC-C-lite and the KV benchmark run
// on. Latchkey is one backend, every rival another, each in one file; only that file includes the
// rival's headers.
//
// Thread-safety: a KvBackend may be used by every actor at once; a KvSession belongs to one.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"
#include "storage/device/device_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Index into the table names given at open.
using TableIndex = uint32_t;

struct TableKey {
  TableIndex table;
  std::string_view key;
};

/// What the backends are opened with. A backend ignores what it has no dimension for.
struct KvOptions {
  std::string path;
  std::vector<std::string> tables;
  uint64_t cache_bytes = 256ull << 20;  ///< all memory of the engine together
  uint32_t page_size = 4096;            ///< bytes (RocksDB: block size)
  DeviceSpec device;                    ///< where its files lie
  /// What its actors run on. A simulated device wants a SimulatedRuntime, and to be opened inside
  /// its Run. Outlives the backend.
  Runtime* runtime = &ThreadRuntime();
  /// On simulated devices: the processor time that every operation of a session takes, each session
  /// having a processor of its own. 0: work takes no time, only the devices do.
  Nanos cpu_per_operation = 0;
  Durability durability = Durability::kNone;  ///< see KvTraits::durability
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;  ///< Latchkey's
  bool read_committed_load =
      false;              ///< the initial load: no concurrent readers, conflicts impossible
  Techniques techniques;  ///< Latchkey's
  std::function<void(LogSeverity, std::string_view)> log_sink;

  /// Its content outlives it, so that a load can be copied.
  bool in_files() const { return device.kind == DeviceSpec::Kind::kFile; }
};

/// What a backend can tell of itself; nullopt = it cannot.
struct KvStatistics {
  std::optional<Statistics> latchkey;
  std::optional<uint64_t> reads, writes, bytes_read, bytes_written, live_bytes, file_bytes;
  std::optional<double> hit_ratio;
};

/// One user's connection: at most one transaction at a time, at snapshot isolation at least (the
/// workloads read by Get what they then Put). After Aborted the transaction is over.
class KvSession {
 public:
  virtual ~KvSession() = default;

  virtual absl::Status Begin() = 0;
  virtual absl::Status Commit() = 0;
  virtual absl::Status Rollback() = 0;

  /// Within a transaction. NotFound when the key is missing; Aborted on a conflict.
  virtual absl::Status Get(TableIndex table, std::string_view key, std::string* value) = 0;
  /// Get, and the intention to write the key: takes its lock where the backend has locks.
  virtual absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) = 0;
  virtual absl::Status Put(TableIndex table, std::string_view key, std::string_view value) = 0;
  /// Of a key that is known to be new.
  virtual absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(TableIndex table, std::string_view key) = 0;
  /// Visits keys of [from, to) ascending, or descending from the last key below `to` when
  /// `reverse`, until `visit` returns false; nothing when `from` >= `to`, so an empty `to` is not
  /// "unbounded". The views are valid during the visit only; `visit` makes no calls into the
  /// session.
  virtual absl::Status Scan(
      TableIndex table, std::string_view from, std::string_view to, bool reverse,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
  /// A hint that these keys are read next; backends without batched reads do nothing.
  virtual void Prefetch(std::span<const TableKey> keys) { (void)keys; }

  // One operation as a transaction of its own: what a backend's cheapest public call for it is.
  // REQUIRES: no transaction open. Aborted (possible where the defaults are kept) is retryable.
  virtual absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) {
    return Auto([&] { return Get(table, key, value); });
  }
  /// Inserts or replaces.
  virtual absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) {
    return Auto([&] { return Put(table, key, value); });
  }

 private:
  absl::Status Auto(absl::FunctionRef<absl::Status()> operation) {
    if (absl::Status begun = Begin(); !begun.ok()) return begun;
    absl::Status done = operation();
    if (absl::IsAborted(done)) return done;
    // A missing key is an answer, not a failure of the transaction.
    const bool answered = done.ok() || absl::IsNotFound(done);
    absl::Status ended = answered ? Commit() : Rollback();
    return done.ok() ? ended : done;
  }
};

class KvBackend {
 public:
  virtual ~KvBackend() = default;

  /// "latchkey", "rocksdb(optimistic)": what a result row calls it.
  virtual std::string Name() const = 0;
  /// Warnings that belong beside every figure of this backend ("built with assertions").
  virtual std::vector<std::string> Warnings() const { return {}; }
  virtual absl::StatusOr<std::unique_ptr<KvSession>> NewSession() = 0;
  /// Makes everything committed so far part of the files, e.g. after the load.
  virtual absl::Status Checkpoint() = 0;
  virtual absl::Status Close() = 0;
  virtual KvStatistics GetStatistics() const = 0;
  virtual void ResetExtremes() {}
};

using KvBackendFactory = absl::StatusOr<std::unique_ptr<KvBackend>> (*)(const KvOptions&);

/// The backends that this build contains, by their names on the command line.
const std::map<std::string, KvBackendFactory>& KvBackends();

}  // namespace latchkey
