#include "tools/campaign/crash/crash_busy_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/database_impl.h"
#include "engine/log/checkpointer.h"
#include "engine/option_names.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/device/testing/forgetful_flash.h"
#include "tools/campaign/crash/crash_workload.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr uint32_t kLogSegment = 16 << 10, kJournalSegment = 8 << 10;
constexpr uint32_t kBlock = 512;
constexpr uint64_t kChangeBuffer = 32 << 10;
// Half of it is for the device. Its slowest flush here (two groups, headers and growth of the log)
// takes 0.6 ms.
constexpr uint32_t kGroupDelayMs = 2;

DatabaseOnDisks OnDisks(const BusyDatabaseOptions& options) {
  return {.database_id = 1,  // as DatabaseSizing::assume_device_costs sets it
          .page_size = options.page_size,
          .compresses = LayoutAndCompression::Of(options.layout).page_compression != "none",
          .log = {.segment_bytes = kLogSegment, .block_bytes = kBlock},
          .journal = {.segment_bytes = kJournalSegment, .block_bytes = kBlock}};
}

// Enough to open the database, and little more. With private copies a frame takes up to 2.25 pages.
uint64_t CacheBytes(const BusyDatabaseOptions& options) {
  const uint64_t pages = options.synchronization.starts_with("separate") ? 150 : 66;
  return (uint64_t{2200} << 10) + pages * (options.page_size - 4096);
}

// The fingerprint of a database that has just been opened. Closes it.
absl::StatusOr<uint64_t> VerifyAndRead(absl::StatusOr<std::unique_ptr<DatabaseImpl>> opened) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db, std::move(opened));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t fingerprint, CrashWorkload::FingerprintOf(*db));
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  return fingerprint;
}

}  // namespace

// The layout knows the minimum in bytes only once its writers and its journal exist.
absl::Status ShrinkCache(DatabaseImpl& db) {
  constexpr uint64_t kStep = 64 << 10, kMost = 16 << 20;
  absl::Status status;
  for (uint64_t bytes = 1 << 20; bytes <= kMost; bytes += kStep) {
    status = db.SetCacheBytes(bytes);
    if (!absl::IsInvalidArgument(status)) break;
  }
  return status;
}

std::string BusyDatabase::name() const {
  return fmt::format(
      "{} {} {} {}x{} {} {} {} pages of {}, {} users{}{}", options_.layout,
      options_.segment_cleaning, options_.space_utilization, options_.replacement,
      options_.synchronization, options_.durability == Durability::kGroup ? "group" : "commit",
      NameOf(options_.torn_write_protection),
      options_.cleaners == 1 ? "1 cleaner," : fmt::format("{} cleaners,", options_.cleaners),
      options_.page_size, options_.users, options_.change_buffer ? ", change buffer" : "",
      options_.flash ? ", flash" : "");
}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> BusyDatabase::Open(uint64_t seed,
                                                                 CrashMachine& machine, bool create,
                                                                 bool read_only) {
  machine.disks->SetMonitor(std::make_unique<WriteOrderMonitor>(OnDisks(options_)));
  DatabaseDevices devices;
  devices.data = machine.disks->Open(DatabaseOnDisks::kData);
  if (options_.flash) devices.data = std::make_unique<ForgetfulFlash>(std::move(devices.data));
  devices.log = machine.disks->Open(DatabaseOnDisks::kLog);
  devices.journal = machine.disks->Open(DatabaseOnDisks::kJournal);
  devices.sizing = {.log_segment_bytes = kLogSegment,
                    .log_initial_bytes = 4 * kLogSegment,
                    .journal_segment_bytes = kJournalSegment,
                    .reserve_bytes = 1,
                    .doublewrite_pages = 8,
                    .assume_device_costs = true,
                    .assumed_eta = options_.flash ? 1.3 : 5};  // segments in parts, or whole
  Options options;
  options.create_if_missing = create;
  options.read_only = read_only;
  options.cache_bytes = CacheBytes(options_);
  options.page_size = create ? options_.page_size : 0;
  options.durability = options_.durability;
  options.torn_write_protection = options_.torn_write_protection;
  options.group_commit_delay_ms = kGroupDelayMs;
  options.checkpoint_log_bytes = 64 << 10;
  options.log_sink = [this](LogSeverity, std::string_view message) {
    tally_.pages_repaired += message.find("from the doublewrite area") != std::string_view::npos;
    tally_.pages_from_images += message.find("again from its image") != std::string_view::npos;
  };
  const LayoutAndCompression item = LayoutAndCompression::Of(options_.layout);
  options.techniques = {.layout = item.layout,
                        .segment_cleaning = options_.segment_cleaning,
                        .page_compression = item.page_compression,
                        .space_utilization = options_.space_utilization,
                        .segment_size = create ? std::max(64u << 10, 8 * options_.page_size) : 0,
                        .replacement = options_.replacement,
                        .synchronization = options_.synchronization,
                        .cleaner = options_.cleaner,
                        .cleaners = options_.cleaners,
                        .seed = seed};
  if (options_.change_buffer) {
    options.cache_bytes += kChangeBuffer;
    TryChangeBuffer(kChangeBuffer, &options);
  }
  return DatabaseImpl::OpenOverDevices(machine.runtime(), std::move(devices), options);
}

absl::Status BusyDatabase::Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) {
  oracle.Submit(machine.disks->position(), 0);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            Open(seed, machine, /*create=*/true));
  LATCHKEY_RETURN_IF_ERROR(ShrinkCache(*db));
  const uint64_t created_at = machine.disks->position();
  const bool acknowledges = options_.durability == Durability::kCommit;
  CrashWorkload workload(*db, machine,
                         {.users = options_.users,
                          .transactions = options_.transactions,
                          .promise = acknowledges ? Nanos{0} : kGroupDelayMs * kNanosPerMilli},
                         seed);
  LATCHKEY_RETURN_IF_ERROR(workload.Run());
  tally_.Add(db->GetStatistics());
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  oracle.Acknowledge(created_at);
  workload.Tell(oracle);
  oracle.Acknowledge(machine.disks->position());
  tally_.aborts += workload.aborts();
  tally_.savepoint_rollbacks += workload.savepoint_rollbacks();
  tally_.loads += workload.loads();
  tally_.values_in_parts += workload.values_in_parts();
  tally_.Add(*machine.disks, OnDisks(options_));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> BusyDatabase::RecoverReadOnly(uint64_t seed, CrashMachine& machine) {
  const auto hashes = [&] {
    return std::array{machine.disks->content(DatabaseOnDisks::kData).Hash(),
                      machine.disks->content(DatabaseOnDisks::kLog).Hash(),
                      machine.disks->content(DatabaseOnDisks::kJournal).Hash()};
  };
  const auto before = hashes();
  LATCHKEY_ASSIGN_OR_RETURN(
      const uint64_t fingerprint,
      VerifyAndRead(Open(seed, machine, /*create=*/false, /*read_only=*/true)));
  if (hashes() == before) return fingerprint;
  return absl::InternalError("an open for reading alone has changed a disk");
}

absl::StatusOr<uint64_t> BusyDatabase::Recover(uint64_t seed, CrashMachine& machine) {
  constexpr uint64_t kReadOnlyOneIn = 16;
  std::optional<uint64_t> read;
  // Chosen by what the log holds, so that a state that is repeated alone is treated alike.
  if (machine.disks->content(DatabaseOnDisks::kLog).Hash() % kReadOnlyOneIn == 0) {
    LATCHKEY_ASSIGN_OR_RETURN(read, RecoverReadOnly(seed, machine));
  }
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t fingerprint,
                            VerifyAndRead(Open(seed, machine, /*create=*/false)));
  if (!read || *read == fingerprint) return fingerprint;
  return absl::InternalError("an open for reading alone has shown other records");
}

// ---- Combinations

BusyDatabaseChoices BusyDatabaseChoices::All() {
  return {.segment_cleanings = SegmentCleaningItems(),
          .replacements = ReplacementItems(),
          .synchronizations = SynchronizationItems(),
          .durabilities = {Durability::kCommit, Durability::kCommit, Durability::kGroup},
          .page_sizes = {4096, 4096, 4096, 16384},
          .space_utilizations = {0.8, 0.9, 0.98, 0.6},
          .cleaners = {1, 2, 0},
          .users = {3, 4, 2, 1},
          .protections = {TornWriteProtection::kDoublewrite},
          .change_buffers = {0, 1},
          .flashes = {0, 0, 1}};
}

BusyDatabaseOptions BusyDatabaseChoices::Of(uint64_t seed, BusyDatabaseOptions base) const {
  uint64_t dimension = 0;
  // Each dimension uses a hash of its own, so that no two dimensions vary together.
  const auto choose = [&](const auto& values, auto* value) {
    ++dimension;
    if (!values.empty()) *value = values[MixHash(seed * 64 + dimension) % values.size()];
  };
  choose(segment_cleanings, &base.segment_cleaning);
  choose(replacements, &base.replacement);
  choose(synchronizations, &base.synchronization);
  if (!replacements.empty()) MakePolicy(&base.replacement, base.synchronization);
  choose(durabilities, &base.durability);
  choose(page_sizes, &base.page_size);
  choose(space_utilizations, &base.space_utilization);
  choose(cleaners, &base.cleaners);
  choose(users, &base.users);
  choose(protections, &base.torn_write_protection);
  choose(change_buffers, &base.change_buffer);
  choose(flashes, &base.flash);
  return base;
}

BusyDatabase& VariedBusyDatabase::Current(uint64_t seed) {
  if (current_ == nullptr || seed != seed_) {
    if (current_ != nullptr) before_.Add(current_->tally());
    current_ = std::make_unique<BusyDatabase>(choices_.Of(seed, base_));
    seed_ = seed;
  }
  return *current_;
}

absl::Status VariedBusyDatabase::Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) {
  return Current(seed).Run(seed, machine, oracle);
}

absl::StatusOr<uint64_t> VariedBusyDatabase::Recover(uint64_t seed, CrashMachine& machine) {
  return Current(seed).Recover(seed, machine);
}

CrashTally VariedBusyDatabase::tally() const {
  CrashTally all = before_;
  if (current_ != nullptr) all.Add(current_->tally());
  return all;
}

}  // namespace latchkey
