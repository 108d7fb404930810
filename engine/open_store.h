// Options turned into an opened page store and the device of its log: which files or devices, which
// layout, which checks come first.
//
// A database is a directory: data.lk (pages), log.lk (write-ahead log) and map.lk (the layout's
// journal); the last two only if it was ever opened with a durability other than kNone. It is
// created under the name data.lk.new, which becomes data.lk when everything is in place: a creation
// that a crash cut short is begun again, and is never taken for a database.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// How large the parts of a new database begin; 0 = the default. For small databases of tests.
struct DatabaseSizing {
  uint32_t log_segment_bytes = 0;      ///< 4 MiB
  uint64_t log_initial_bytes = 0;      ///< 16 MiB
  uint64_t log_max_bytes = 0;          ///< 1 TiB; also of an existing database
  uint32_t journal_segment_bytes = 0;  ///< as SegmentStoreOptions
  uint64_t reserve_bytes = 0;          ///< as SegmentStoreOptions
  uint32_t doublewrite_pages = 0;      ///< as SegmentStoreOptions
  /// The device writes a page wholly or not at all: pages are not protected against torn writes.
  bool tears_no_page = false;
  /// The device is not measured but taken to be a fast one: an open is then repeatable.
  bool assume_device_costs = false;
  /// Of a new database, with assume_device_costs; 0: the one that all of these have.
  uint64_t database_id = 0;
};

/// What a database lives on. `log` and `journal` are looked at only if it is logged; with
/// Durability::kNone they may be nullptr if it never was.
struct DatabaseDevices {
  std::unique_ptr<BlockDevice> data;
  std::unique_ptr<BlockDevice> log;
  std::unique_ptr<BlockDevice> journal;
  DatabaseSizing sizing;
};

struct OpenedStore {
  std::unique_ptr<PageStore> store;
  std::vector<std::byte> client_root;  ///< empty = a new database
  uint64_t database_id = 0;
  std::unique_ptr<BlockDevice> log_device;  ///< nullptr: nothing is logged
  DatabaseSizing sizing;
  double layout_s = 0;  ///< the store took so many seconds to open
  /// Once the database is open: a new one gets its name, and what was created stays. Empty: nothing
  /// to do.
  std::function<absl::Status()> finish_opening;
};

/// InvalidArgument for what no database could be opened with, before anything is touched.
absl::Status ValidateOptions(const Options& options);

/// Options::checkpoint_log_bytes, resolved. Bytes.
uint64_t CheckpointLogBytes(const Options& options);

/// Opens or creates the files of the database at `path`. Errors as Database::Open says.
absl::StatusOr<OpenedStore> OpenStore(Runtime& runtime, const std::string& path,
                                      const Options& options, const LogSink& log_sink);

/// The same over devices: a database is created on an empty data device. FailedPrecondition also
/// when the log's device is empty though the database has a log.
absl::StatusOr<OpenedStore> OpenStoreOver(Runtime& runtime, DatabaseDevices devices,
                                          const Options& options, const LogSink& log_sink);

/// Whether the database at `path` has files of a log: it recovers before it is used without one.
bool HasLogFiles(const std::string& path);

}  // namespace latchkey
