#include "engine/open_store.h"

#include <algorithm>
#include <utility>

#include "bufferpool/cleaning/page_cleaner.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/cache_plan.h"
#include "engine/database_files.h"
#include "engine/log/client_root.h"
#include "engine/memory_plan.h"
#include "engine/option_names.h"
#include "layout/segment_store.h"
#include "storage/base/status_macros.h"
#include "storage/device/memory_device.h"
#include "storage/device/overlay_device.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr uint64_t kLeastDefaultCheckpointLogBytes = uint64_t{256} << 20;
constexpr uint64_t kMostDefaultCheckpointLogBytes = uint64_t{1} << 30;

absl::Status CheckCleaners(const Techniques& techniques) {
  if (techniques.cleaners > PageCleaners::kMaxCleaners) {
    return InvalidArgument("{} page cleaners are too many: 0 to {}", techniques.cleaners,
                           PageCleaners::kMaxCleaners);
  }
  return absl::OkStatus();
}

absl::Status CheckEviction(const Techniques& techniques, const TechniqueChoices& choices) {
  if (techniques.eviction_batch > FixPolicy::kMostVictims) {
    return InvalidArgument(
        "an eviction batch of {} victims: 1 to {}, or 0 for the choice of the synchronization "
        "scheme",
        techniques.eviction_batch, FixPolicy::kMostVictims);
  }
  if (techniques.eviction_batch != 0 && choices.synchronization.name() == "bp-wrapper") {
    return InvalidArgument(
        "an eviction batch of {} victims with bp-wrapper: its parameter refill says how many "
        "victims an eviction takes; give bp-wrapper:refill={} or an eviction batch of 0",
        techniques.eviction_batch, techniques.eviction_batch);
  }
  return absl::OkStatus();
}

absl::Status CheckChangeBuffer(const Options& options, const TechniqueChoices& choices) {
  const uint64_t bytes = options.techniques.change_buffer_bytes;
  if (bytes == 0) return absl::OkStatus();
  const auto refuse = [bytes](std::string_view with, std::string_view reason) {
    return InvalidArgument("a change buffer of {} bytes with {}: {}; choose another, or 0 bytes",
                           bytes, with, reason);
  };
  if (bytes > options.cache_bytes / 2) {
    return InvalidArgument("a change buffer of {} bytes: 0 to {}, half of the cache", bytes,
                           options.cache_bytes / 2);
  }
  if (choices.synchronization.name() == "separate") {
    return refuse("separate", "private copies would lack the changes that wait");
  }
  if (choices.page_in.entry().page_in == PageIn::kOptimistic) {
    return refuse("page-in optimistic", "several readers of a page would take its changes");
  }
  if (options.torn_write_protection == TornWriteProtection::kImages) {
    return refuse("torn-write protection images",
                  "a put that does not read its page cannot log it");
  }
  return absl::OkStatus();
}

bool IsLogged(const Options& options) { return options.durability != Durability::kNone; }

// Costs of a plain NVMe drive, for databases that must behave the same at every open.
constexpr PageCosts AssumedCosts(double eta) {
  return {.page_write_ns = 4'000 * eta, .segment_write_ns = 4'000, .segment_read_ns = 4'000};
}

using Protection = SegmentStoreOptions::TornWriteProtection;

Protection ProtectionOf(TornWriteProtection protection) {
  switch (protection) {
    case TornWriteProtection::kDoublewrite:
      return Protection::kDoublewrite;
    case TornWriteProtection::kImages:
      return Protection::kImages;
    case TornWriteProtection::kNone:
      return Protection::kNone;
  }
  return Protection::kDoublewrite;
}

SegmentStoreOptions StoreOptions(const ResolvedOptions& options, const DatabaseSizing& sizing,
                                 const LogSink& log_sink) {
  const Techniques& techniques = options.techniques;
  SegmentStoreOptions store;
  store.mode = options.create_if_missing ? SegmentStoreOptions::Mode::kOpenOrCreate
                                         : SegmentStoreOptions::Mode::kOpen;
  store.layout = options.choices.layout;
  store.segment_cleaning = options.choices.segment_cleaning;
  store.page_compression = options.choices.page_compression;
  store.space_utilization = techniques.space_utilization;
  store.page_size = options.page_size;
  store.segment_size = static_cast<uint32_t>(techniques.segment_size);
  store.seed = techniques.seed;
  store.cache_bytes = options.cache_bytes;
  if (sizing.reserve_bytes != 0) store.reserve_bytes = sizing.reserve_bytes;
  if (sizing.journal_segment_bytes != 0) store.journal_segment_bytes = sizing.journal_segment_bytes;
  store.doublewrite_pages = sizing.doublewrite_pages;
  store.torn_write_protection =
      sizing.tears_no_page ? Protection::kNone : ProtectionOf(options.torn_write_protection);
  if (sizing.assume_device_costs) {
    store.assumed_costs = AssumedCosts(sizing.assumed_eta);
    store.database_id = sizing.database_id != 0 ? sizing.database_id : 1;
  }
  store.log_sink = log_sink;
  return store;
}

// Whether a database opened from `client_root` (empty = new) needs its log.
absl::StatusOr<bool> NeedsLog(const std::vector<std::byte>& client_root) {
  if (client_root.empty()) return false;
  LATCHKEY_ASSIGN_OR_RETURN(const ClientRoot root, DecodeClientRoot(client_root));
  return root.has_log;
}

absl::StatusOr<OpenedStore> OpenPages(Runtime& runtime, std::unique_ptr<BlockDevice> data,
                                      std::unique_ptr<BlockDevice> journal,
                                      const ResolvedOptions& options, const DatabaseSizing& sizing,
                                      const LogSink& log_sink) {
  if (options.techniques.segment_size > UINT32_MAX) {
    return InvalidArgument("a segment size of {} bytes is too large",
                           options.techniques.segment_size);
  }
  const Nanos began = runtime.Now();
  LATCHKEY_ASSIGN_OR_RETURN(OpenedSegmentStore opened,
                            OpenSegmentStore(runtime, std::move(data), std::move(journal),
                                             StoreOptions(options, sizing, log_sink)));
  OpenedStore result;
  result.layout_s = static_cast<double>(runtime.Now() - began) / kNanosPerSecond;
  result.database_id = opened.store->database_id();
  result.segment_bytes = opened.store->segment_size();
  result.buffer_bytes = opened.store->MostBufferBytes(ExpectedWriterPages(options));
  result.store = std::move(opened.store);
  result.client_root = std::move(opened.client_root);
  result.sizing = sizing;
  return result;
}

// Makes the checks that need the data file alone, before another file is created beside it.
absl::Status RefuseBeforeChanges(const DatabaseFiles& files, BlockDevice& data,
                                 const ResolvedOptions& options, const std::string& path) {
  if (!files.exists()) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(const bool needs_journal,
                            CheckSegmentStore(data, StoreOptions(options, {}, nullptr)));
  if (!needs_journal || files.has_journal()) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "{}: map.lk is missing, and with it where the newest pages are: put it back, or "
      "salvage the data file",
      path);
}

// An open for reading alone writes to memory.
std::unique_ptr<BlockDevice> OverlaidFor(const Options& options, Runtime& runtime,
                                         std::unique_ptr<BlockDevice> device) {
  if (!options.read_only || device == nullptr) return device;
  return std::make_unique<OverlayDevice>(runtime, std::move(device));
}

absl::StatusOr<OpenedStore> OpenFiles(Runtime& runtime, const std::string& path,
                                      const ResolvedOptions& options, const DatabaseSizing& sizing,
                                      const LogSink& log_sink) {
  auto files = std::make_shared<DatabaseFiles>(runtime, path, log_sink);
  LATCHKEY_RETURN_IF_ERROR(
      options.read_only ? files->PrepareForReading()
                        : files->Prepare(options.create_if_missing, options.error_if_exists));
  const bool logged = IsLogged(options);
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BlockDevice> data, files->OpenData(/*staged=*/logged));
  LATCHKEY_RETURN_IF_ERROR(RefuseBeforeChanges(*files, *data, options, path));
  std::unique_ptr<BlockDevice> journal;
  if (logged) {
    LATCHKEY_ASSIGN_OR_RETURN(journal, files->OpenJournal());
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      OpenedStore opened,
      OpenPages(runtime, OverlaidFor(options, runtime, std::move(data)),
                OverlaidFor(options, runtime, std::move(journal)), options, sizing, log_sink));
  files->DeferSyncs();  // the layout has measured the device, with its syncs
  opened.finish_opening = [files] { return files->FinishOpening(); };
  if (!options.read_only) {  // else there are no old versions
    LATCHKEY_ASSIGN_OR_RETURN(opened.spill_device, files->OpenSpill());
  }
  if (!logged) return opened;
  LATCHKEY_ASSIGN_OR_RETURN(const bool needs_log, NeedsLog(opened.client_root));
  if (needs_log && !files->has_log()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: log.lk is missing, and with it what was committed last: put it back, or "
                      "salvage the data file",
                      path);
  }
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BlockDevice> log, files->OpenLog());
  opened.log_device = OverlaidFor(options, runtime, std::move(log));
  return opened;
}

}  // namespace

absl::StatusOr<ResolvedOptions> ResolveOptions(const Options& options) {
  if (options.read_only && (options.error_if_exists || options.in_memory_device)) {
    return InvalidArgument(
        "a read-only open with {}: it needs a database that is there; leave one of the two options "
        "out",
        options.in_memory_device ? "in_memory_device" : "error_if_exists");
  }
  if (options.page_size != 0 && !IsValidPageSize(options.page_size)) {
    return InvalidArgument("page size {}: a power of two from {} to {}, or 0 for the default",
                           options.page_size, kMinPageSize, kMaxPageSize);
  }
  LATCHKEY_ASSIGN_OR_RETURN(TechniqueChoices choices, ParseTechniques(options.techniques));
  LATCHKEY_RETURN_IF_ERROR(CheckCleaners(options.techniques));
  LATCHKEY_RETURN_IF_ERROR(CheckEviction(options.techniques, choices));
  LATCHKEY_RETURN_IF_ERROR(CheckChangeBuffer(options, choices));
  if (options.group_commit_delay_ms < 1 ||
      options.group_commit_delay_ms > kMostGroupCommitDelayMs) {
    return InvalidArgument("a group commit delay of {} ms: 1 to {}", options.group_commit_delay_ms,
                           kMostGroupCommitDelayMs);
  }
  if (options.latency_sampling > kMostLatencySampling) {
    return InvalidArgument("a latency sampling of one call in {}: 0 to {}", options.latency_sampling,
                           kMostLatencySampling);
  }
  if (options.slow_call_ms > kMostSlowCallMs) {
    return InvalidArgument("slow calls from {} ms on: 0 to {}", options.slow_call_ms,
                           kMostSlowCallMs);
  }
  if (options.lock_wait_ms < 1 || options.lock_wait_ms > kMostLockWaitMs) {
    return InvalidArgument("a lock wait of {} ms: 1 to {}", options.lock_wait_ms, kMostLockWaitMs);
  }
  if (options.torn_write_protection == TornWriteProtection::kImages && !IsLogged(options)) {
    return InvalidArgument(
        "torn-write protection by images with durability none: the images are in the log, which "
        "that does not write; give durability group or commit, or protection doublewrite or none");
  }
  if (options.checkpoint_log_bytes != 0 && options.checkpoint_log_bytes < kMinCheckpointLogBytes) {
    return InvalidArgument("a checkpoint every {} bytes of log: at least {}, or 0 for the default",
                           options.checkpoint_log_bytes, kMinCheckpointLogBytes);
  }
  const uint32_t page_size = options.page_size == 0 ? kDefaultPageSize : options.page_size;
  const absl::StatusOr<MemoryPlan> plan =
      PlanMemory(options.cache_bytes, page_size, BytesPerFrame(page_size, choices), /*pages=*/0,
                 /*store_bytes=*/0);
  // A larger cache is refused only when the store is open, which tells how much it needs itself.
  if (!plan.ok() && options.cache_bytes < kLeastCacheBytes) return plan.status();
  const uint32_t frames = plan.ok() ? plan->frames : kFewestFrames;
  LATCHKEY_RETURN_IF_ERROR(MakeFixPolicy(ThreadRuntime(), choices.replacement,
                                         choices.synchronization, frames, frames,
                                         options.techniques.seed)
                               .status());
  return ResolvedOptions{options, std::move(choices)};
}

uint64_t CheckpointLogBytes(const Options& options) {
  if (options.checkpoint_log_bytes != 0) return options.checkpoint_log_bytes;
  return std::clamp(options.cache_bytes / 4, kLeastDefaultCheckpointLogBytes,
                    kMostDefaultCheckpointLogBytes);
}

uint64_t SnapshotSpillBytes(const Options& options) {
  if (options.snapshot_spill_bytes != 0) return options.snapshot_spill_bytes;
  return std::max<uint64_t>(16 * options.cache_bytes, uint64_t{1} << 30);
}

absl::StatusOr<OpenedStore> OpenStoreOver(Runtime& runtime, DatabaseDevices devices,
                                          const ResolvedOptions& options, const LogSink& log_sink) {
  LATCHKEY_ASSIGN_OR_RETURN(
      OpenedStore opened,
      OpenPages(
          runtime, OverlaidFor(options, runtime, std::move(devices.data)),
          IsLogged(options) ? OverlaidFor(options, runtime, std::move(devices.journal)) : nullptr,
          options, devices.sizing, log_sink));
  opened.spill_device = std::move(devices.spill);
  if (!IsLogged(options)) return opened;
  LATCHKEY_ASSIGN_OR_RETURN(const bool needs_log, NeedsLog(opened.client_root));
  if (needs_log && devices.log->geometry().size_bytes == 0) {
    return absl::FailedPreconditionError(
        "the device of the log is empty, and with it what was committed last is missing: put the "
        "log back, or salvage the data");
  }
  opened.log_device = OverlaidFor(options, runtime, std::move(devices.log));
  return opened;
}

absl::StatusOr<OpenedStore> OpenStore(Runtime& runtime, const std::string& path,
                                      const ResolvedOptions& options, const LogSink& log_sink,
                                      const DatabaseSizing& sizing) {
  if (!options.in_memory_device) return OpenFiles(runtime, path, options, sizing, log_sink);
  DatabaseDevices devices;
  LATCHKEY_ASSIGN_OR_RETURN(devices.data, MemoryDevice::Create(runtime, {.name = path}));
  LATCHKEY_ASSIGN_OR_RETURN(devices.spill,
                            MemoryDevice::Create(runtime, {.name = path + ".spill"}));
  if (IsLogged(options)) {
    LATCHKEY_ASSIGN_OR_RETURN(devices.log, MemoryDevice::Create(runtime, {.name = path + ".log"}));
    LATCHKEY_ASSIGN_OR_RETURN(devices.journal,
                              MemoryDevice::Create(runtime, {.name = path + ".map"}));
  }
  return OpenStoreOver(runtime, std::move(devices), options, log_sink);
}

ResolvedOptions ForReading(const ResolvedOptions& options, bool has_log) {
  ResolvedOptions reading = options;
  reading.durability = has_log ? Durability::kCommit : Durability::kNone;
  reading.torn_write_protection = TornWriteProtection::kNone;
  reading.create_if_missing = false;
  reading.techniques.cleaners = 0;
  return reading;
}

bool HasLogFiles(const std::string& path) {
  return DatabaseFiles(ThreadRuntime(), path, nullptr).has_log();
}

}  // namespace latchkey
