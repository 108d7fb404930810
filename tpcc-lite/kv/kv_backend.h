// KvBackend: the ordered transactional key/value interface below TPC-C-lite and the KV benchmark.
// Latchkey and every rival are backends, each in one file. Only that file includes the rival's
// headers.
//
// Thread-safety: a KvBackend may be used by every actor at once; a KvSession belongs to one actor.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/fix_recorder.h"
#include "engine/latchkey.h"
#include "storage/base/ids.h"
#include "storage/device/block_device.h"
#include "storage/device/device_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Index into the table names given at open.
using TableIndex = uint32_t;

struct TableKey {
  TableIndex table;
  std::string_view key;
};

/// Options for opening a backend. A backend ignores the options for dimensions that it does not
/// have (KvTraits).
struct KvOptions {
  std::string path;
  std::vector<std::string> tables;
  uint64_t cache_bytes = 256ull << 20;  ///< all memory of the engine together
  uint32_t page_size = 4096;            ///< bytes (RocksDB: block size)
  DeviceSpec device;                    ///< place of its files
  /// The runtime of its actors. A simulated device needs a SimulatedRuntime, and the backend must
  /// be opened inside its Run. Outlives the backend.
  Runtime* runtime = &ThreadRuntime();
  /// On simulated devices: processor time of every operation of a session. Each session has a
  /// processor of its own. 0: operations take no processor time; only the devices take time.
  Nanos cpu_per_operation = 0;
  Durability durability = Durability::kNone;  ///< see KvTraits::durability
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;  ///< of Latchkey
  bool read_committed_load =
      false;              ///< the initial load: no concurrent readers, conflicts impossible
  Techniques techniques;  ///< of Latchkey
  std::function<void(LogSeverity, std::string_view)> log_sink;

  /// Whether the content outlives the backend, so that a load can be copied.
  bool in_files() const { return device.kind == DeviceSpec::Kind::kFile; }
};

/// Counters of a backend; nullopt = the backend does not report them.
struct KvStatistics {
  std::optional<Statistics> latchkey;
  std::optional<MediumStats> medium;  ///< of a simulated device with the data
  std::optional<uint64_t> reads, writes, bytes_read, bytes_written, live_bytes, file_bytes;
  std::optional<double> hit_ratio;
};

/// A record to put. The views are valid during the call.
struct KvRecord {
  std::string_view key, value;
};

/// One user's connection: at most one transaction at a time, with at least snapshot isolation (the
/// workloads read by Get what they then Put). Aborted ends the transaction.
class KvSession {
 public:
  virtual ~KvSession() = default;

  virtual absl::Status Begin() = 0;
  virtual absl::Status Commit() = 0;
  virtual absl::Status Rollback() = 0;

  /// Within a transaction. NotFound: the key is missing. Aborted: a conflict.
  virtual absl::Status Get(TableIndex table, std::string_view key, std::string* value) = 0;
  /// As Get, and announces a write of the key: takes its lock if the backend has locks.
  virtual absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) = 0;
  virtual absl::Status Put(TableIndex table, std::string_view key, std::string_view value) = 0;
  /// REQUIRES: the key is new.
  virtual absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(TableIndex table, std::string_view key) = 0;
  /// Visits the keys of [from, to) in ascending order, or, if `reverse`, in descending order from
  /// the last key below `to`, until `visit` returns false. Visits nothing if `from` >= `to`; an
  /// empty `to` does not mean "unbounded". The views are valid during the visit only. `visit` makes
  /// no calls into the session.
  virtual absl::Status Scan(
      TableIndex table, std::string_view from, std::string_view to, bool reverse,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
  /// A hint: these keys are read next. Backends without batched reads ignore it.
  virtual void Prefetch(std::span<const TableKey> keys) { (void)keys; }
  /// Whether it is worth a transaction of its own to learn a key that Prefetch can then announce.
  virtual bool lookups_pay() const { return false; }

  // One operation as a transaction of its own, by the backend's cheapest public call for it.
  // REQUIRES: no transaction is open. Aborted is possible where the backend keeps its default
  // isolation, and may be retried.
  virtual absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) {
    return Auto([&] { return Get(table, key, value); });
  }
  /// Inserts or replaces.
  virtual absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) {
    return Auto([&] { return Put(table, key, value); });
  }
  /// Inserts or replaces all of them in one transaction.
  virtual absl::Status PutManyAuto(TableIndex table, std::span<const KvRecord> records) {
    return Auto([&] { return PutEach(table, records); });
  }
  virtual absl::Status DeleteAuto(TableIndex table, std::string_view key) {
    return Auto([&] { return Delete(table, key); });
  }
  /// Loads what `next` gives, in ascending order of the keys, until it returns false: by the backend's
  /// call for sorted records or, as here, by transactions of many puts each. So a load that fails may
  /// leave a part. Its views are valid until it is called again.
  /// REQUIRES: the table is empty, and no other session uses it.
  virtual absl::Status LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next);
  /// Deletes the keys of [from, to), and gives their space back, as well as the backend can: by a call
  /// of its own or, as here, by transactions that delete many keys each. So it may not be atomic.
  /// Deletes nothing if `from` >= `to`. Each of its transactions may be Aborted, as above.
  virtual absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                                       std::string_view to);

 protected:
  /// Put of each, within a transaction, up to the first error.
  absl::Status PutEach(TableIndex table, std::span<const KvRecord> records) {
    absl::Status put;
    for (size_t i = 0; i < records.size() && put.ok(); ++i) {
      put = Put(table, records[i].key, records[i].value);
    }
    return put;
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

  /// The name in result rows: "latchkey", "rocksdb(optimistic)".
  virtual std::string Name() const = 0;
  /// Warnings that are shown beside every figure of this backend ("built with assertions").
  virtual std::vector<std::string> Warnings() const { return {}; }
  virtual absl::StatusOr<std::unique_ptr<KvSession>> NewSession() = 0;
  /// Moves everything committed so far into the files, for example after the load.
  virtual absl::Status Checkpoint() = 0;
  virtual absl::Status Close() = 0;
  /// Makes a backup in `directory`, which is not there, while sessions go on. `go_on` is called now and
  /// then; false: stop with Cancelled. *bytes: of its files.
  virtual absl::Status BackUp(const std::string& directory, const std::function<bool()>& go_on,
                              uint64_t* bytes) {
    (void)directory, (void)go_on, (void)bytes;
    return absl::UnimplementedError(Name() + " makes no backups here");
  }
  virtual KvStatistics GetStatistics() const = 0;
  virtual void ResetExtremes() {}
  /// The roots of the trees of KvOptions::tables, in that order; empty: the backend has no buffer pool
  /// that could be traced.
  virtual std::vector<PageId> TreeRoots() const { return {}; }
  /// From now on the fixes of the backend's pool are reported to `recorder`, which outlives the
  /// backend; nullptr: to none. Without TreeRoots it does nothing.
  virtual void SetFixRecorder(FixRecorder* recorder) { (void)recorder; }
};

using KvBackendFactory = absl::StatusOr<std::unique_ptr<KvBackend>> (*)(const KvOptions&);

}  // namespace latchkey
