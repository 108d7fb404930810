// Power losses while TPC-C-lite runs: several users in simulated time on recorded disks. Each run
// ends at a position of the recorded events that the seed chooses, in one of the crash variants.
// The next run continues from that state.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/database_impl.h"
#include "engine/testing/devices_on.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_replay.h"
#include "tools/campaign/shared/crash_subject.h"
#include "tools/campaign/shared/technique_items.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"
#include "tpcc-lite/kv/latchkey_backend.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {
namespace {

constexpr uint32_t kDisks = 3;

class PowerCutStore {
 public:
  PowerCutStore(const TpccCrashOptions& options, uint64_t store, TpccCrashReport* report)
      : options_(options),
        config_(options.Config()),
        report_(*report),
        layout_(options.LayoutOf(store)),
        seed_(MixHash(options.seed + 1) + store),
        rng_(seed_),
        images_(kDisks) {}

  void Run(uint64_t losses) {
    absl::Status status = Load();
    for (uint64_t i = 0; i < losses && status.ok(); ++i) status = OneLoss();
    if (status.ok()) status = CloseAndCheck();
    if (status.ok()) return;
    report_.wrong = fmt::format(
        "after {} power losses, on {}: {}\n    again: latchkey_campaign tpcc-crash --kills=0 "
        "--power-losses={} --seed={}",
        report_.power_losses, layout_, status.ToString(), options_.power_losses, options_.seed);
  }

 private:
  absl::StatusOr<std::unique_ptr<KvBackend>> Open(CrashMachine& machine, bool create) {
    const DatabaseSizing sizing = {.log_segment_bytes = 64 << 10,
                                   .log_initial_bytes = 256 << 10,
                                   .journal_segment_bytes = 16 << 10,
                                   .reserve_bytes = 1,
                                   .doublewrite_pages = 16,
                                   .assume_device_costs = true};
    Options options;
    options.create_if_missing = create;
    options.cache_bytes = 3 << 20;
    options.durability = Durability::kCommit;
    options.checkpoint_log_bytes = 256 << 10;
    SetLayout(layout_, &options.techniques);
    options.techniques.segment_size = create ? 128 << 10 : 0;
    options.techniques.seed = seed_;
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<DatabaseImpl> db,
                              DatabaseImpl::OpenOverDevices(
                                  machine.runtime(), DevicesOn(*machine.disks, sizing), options));
    return NewLatchkeyBackend(DatabaseImpl::AsDatabase(std::move(db)), TpccTableNames());
  }

  absl::Status Load() {
    CrashMachine machine(images_, seed_, /*record=*/false, /*simulated=*/true);
    const absl::Status ran = machine.RunInside([&]() -> absl::Status {
      LATCHKEY_ASSIGN_OR_RETURN(const auto backend, Open(machine, /*create=*/true));
      LATCHKEY_RETURN_IF_ERROR(LoadTpcc(*backend, config_, {}, machine.runtime()));
      return backend->Close();
    });
    LATCHKEY_RETURN_IF_ERROR(ran);
    for (uint32_t disk = 0; disk < kDisks; ++disk) images_[disk] = machine.disks->content(disk);
    return absl::OkStatus();
  }

  absl::Status Check(KvBackend& backend) {
    LATCHKEY_RETURN_IF_ERROR(
        CheckTpccAfterCrash(backend, config_, {.successes = successes_, .others = others_}));
    ++report_.checks;
    report_.present += successes_.size();
    return absl::OkStatus();
  }

  // Recovers, checks, works, and loses its power at some position, possibly during recovery.
  absl::Status OneLoss() {
    CrashMachine machine(images_, rng_.Next(), /*record=*/true, /*simulated=*/true);
    std::vector<std::pair<TpccSuccess, uint64_t>> told;  // with the position from which each holds
    const absl::Status ran = machine.RunInside([&]() -> absl::Status {
      LATCHKEY_ASSIGN_OR_RETURN(const auto backend, Open(machine, /*create=*/false));
      LATCHKEY_RETURN_IF_ERROR(Check(*backend));
      TpccConfig config = config_;
      config.transactions = 1 + rng_.Below(options_.max_transactions);
      TpccRunHooks hooks;
      hooks.on_new_order = [&](uint16_t, uint8_t district, uint32_t order) {
        told.push_back({{district, order}, machine.disks->position()});
      };
      const absl::Status worked = RunTpcc(*backend, config, hooks, machine.runtime()).status();
      machine.disks->PowerOff();
      backend->Close().IgnoreError();
      return worked;
    });
    LATCHKEY_RETURN_IF_ERROR(ran);
    for (const std::string& violation : machine.disks->violations()) {
      return absl::InternalError(violation);
    }
    report_.new_orders += told.size();
    ++report_.power_losses;
    Cut(*machine.disks, told);
    return absl::OkStatus();
  }

  void Cut(const CrashRecorder& disks, const std::vector<std::pair<TpccSuccess, uint64_t>>& told) {
    CrashReplay replay(disks);
    replay.AdvanceTo(rng_.Below(replay.end() + 1));
    images_ = replay.SomeImages(rng_);
    others_ += options_.users;
    for (const auto& [success, position] : told) {
      if (position <= replay.position()) successes_.push_back(success);
    }
  }

  // Runs twice: after the last power loss, and after a clean close of its result.
  absl::Status CloseAndCheck() {
    for (int i = 0; i < 2; ++i) {
      CrashMachine machine(images_, rng_.Next(), /*record=*/false, /*simulated=*/true);
      const absl::Status ran = machine.RunInside([&]() -> absl::Status {
        LATCHKEY_ASSIGN_OR_RETURN(const auto backend, Open(machine, /*create=*/false));
        LATCHKEY_RETURN_IF_ERROR(Check(*backend));
        return backend->Close();
      });
      LATCHKEY_RETURN_IF_ERROR(ran);
      for (uint32_t disk = 0; disk < kDisks; ++disk) images_[disk] = machine.disks->content(disk);
    }
    return absl::OkStatus();
  }

  const TpccCrashOptions& options_;
  const TpccConfig config_;
  TpccCrashReport& report_;
  const std::string layout_;
  const uint64_t seed_;
  Rng rng_;
  std::vector<DiskImage> images_;
  std::vector<TpccSuccess> successes_;
  uint64_t others_ = 0;
};

}  // namespace

void CutPowerUnderTpcc(const TpccCrashOptions& options, TpccCrashReport* report) {
  for (uint64_t store = 0; report->power_losses < options.power_losses && report->wrong.empty();
       ++store) {
    PowerCutStore(options, store, report)
        .Run(std::min(options.power_losses - report->power_losses, options.crashes_per_store));
    ++report->stores;
  }
}

}  // namespace latchkey
