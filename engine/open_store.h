// Options turned into an opened page store and the device of its log: the choice of files or
// devices, the choice of the layout, and the checks that come first.
//
// A database is a directory with these files:
//   data.lk       pages
//   log.lk        write-ahead log       } only if the database was ever opened with a
//   map.lk        the layout's journal  } durability other than kNone
//   spill.lk      while the database is open; it loses its name before it gets content
//   data.lk.new   data.lk of a database that is being created; renamed once everything is in
//                 place. If a crash interrupts the creation, the next open begins it again and
//                 never takes the file for a database.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/technique_choices.h"
#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Initial sizes of the parts of a new database; 0 = the default. For small databases of tests.
struct DatabaseSizing {
  uint32_t log_segment_bytes = 0;      ///< 128 KiB
  uint64_t log_initial_bytes = 0;      ///< 3 segments
  uint64_t log_max_bytes = 0;          ///< 1 TiB; also for an existing database
  uint32_t journal_segment_bytes = 0;  ///< as SegmentStoreOptions
  uint64_t reserve_bytes = 0;          ///< as SegmentStoreOptions
  uint32_t doublewrite_pages = 0;      ///< as SegmentStoreOptions
  /// The device writes a page wholly or not at all, so pages are not protected against torn writes.
  bool tears_no_page = false;
  /// The device is taken to be a fast one instead of being measured, so that an open is repeatable.
  bool assume_device_costs = false;
  /// With assume_device_costs: cost of a page by itself over that of one in a segment, 1 or more.
  double assumed_eta = 5;
  /// Id of a new database, with assume_device_costs. 0 = the id that all such databases share.
  uint64_t database_id = 0;
};

/// The devices of a database. `log` and `journal` are used only if the database is logged. With
/// Durability::kNone they may be nullptr if it never was. With Options::read_only nothing is written to
/// them, and the database is logged if there is a `log`.
struct DatabaseDevices {
  std::unique_ptr<BlockDevice> data;
  std::unique_ptr<BlockDevice> log;
  std::unique_ptr<BlockDevice> journal;
  /// For old versions and undo that do not fit in memory. Its contents are overwritten, and mean
  /// nothing after a crash. nullptr = versions and undo stay in memory, within its bound.
  std::unique_ptr<BlockDevice> spill = nullptr;
  DatabaseSizing sizing;
};

struct OpenedStore {
  std::unique_ptr<PageStore> store;
  std::vector<std::byte> client_root;  ///< empty = a new database
  uint64_t database_id = 0;
  std::unique_ptr<BlockDevice> log_device;    ///< nullptr = nothing is logged
  std::unique_ptr<BlockDevice> spill_device;  ///< nullptr = nothing is spilled
  DatabaseSizing sizing;
  double layout_s = 0;  ///< seconds that the store took to open
  uint32_t segment_bytes = 0;  ///< of the store
  uint64_t buffer_bytes = 0;   ///< the most that its buffers will take
  /// To be called once the database is open: a new one gets its name, and created files stay. Empty
  /// = nothing to do.
  std::function<absl::Status()> finish_opening;
};

/// Options that a database can be opened with, and their parsed techniques.
struct ResolvedOptions : Options {
  TechniqueChoices choices;
};
/// InvalidArgument for options that no database can be opened with; nothing is touched then.
absl::StatusOr<ResolvedOptions> ResolveOptions(const Options& options);

/// Options::checkpoint_log_bytes, resolved. Bytes.
uint64_t CheckpointLogBytes(const Options& options);

/// Options::snapshot_spill_bytes, resolved. Bytes.
uint64_t SnapshotSpillBytes(const Options& options);

/// Opens or creates the files of the database at `path`. Errors as for Database::Open.
absl::StatusOr<OpenedStore> OpenStore(Runtime& runtime, const std::string& path,
                                      const ResolvedOptions& options, const LogSink& log_sink,
                                      const DatabaseSizing& sizing = {});

/// The same over devices. Creates a database if the data device is empty. FailedPrecondition also
/// if the database has a log and the log's device is empty.
absl::StatusOr<OpenedStore> OpenStoreOver(Runtime& runtime, DatabaseDevices devices,
                                          const ResolvedOptions& options, const LogSink& log_sink);

/// The options of an open for reading alone: with the log if the database has one, without anything
/// that writes beside its users.
ResolvedOptions ForReading(const ResolvedOptions& options, bool has_log);

/// Whether the database at `path` has log files: it then recovers before an open without a log.
bool HasLogFiles(const std::string& path);

}  // namespace latchkey
