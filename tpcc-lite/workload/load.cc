// LoadTpcc: distributes the units of a load over the loading actors.
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "storage/base/status_macros.h"
#include "storage/runtime/mutex.h"
#include "tpcc-lite/workload/description.h"
#include "tpcc-lite/workload/keys.h"
#include "tpcc-lite/workload/random_inputs.h"
#include "tpcc-lite/workload/tpcc_driver.h"
#include "tpcc-lite/workload/warehouse_loader.h"

namespace latchkey {
namespace {

class ParallelLoad {
 public:
  ParallelLoad(KvBackend& backend, const TpccConfig& config, const TpccLoadOptions& options,
               Runtime& runtime)
      : backend_(backend),
        config_(config),
        options_(options),
        runtime_(runtime),
        sizes_(config.Sizes()),
        total_rows_(WarehouseLoader::TotalRows(sizes_)),
        mutex_(runtime) {}

  absl::Status Run() {
    const uint32_t actors = std::clamp<uint32_t>(options_.sessions, 1, sizes_.warehouses);
    std::vector<std::unique_ptr<Actor>> running;
    for (uint32_t i = 0; i < actors; ++i) {
      running.push_back(runtime_.Spawn("tpcc-load", [this] { Fail(LoadUnits()); }));
    }
    for (auto& actor : running) actor->Join();
    return error_;
  }

 private:
  absl::Status LoadUnits() {
    LATCHKEY_ASSIGN_OR_RETURN(auto session, backend_.NewSession());
    WarehouseLoader loader(*session, runtime_, sizes_, config_.seed);
    const auto progress = [this](uint64_t rows) { return Progress(rows); };
    while (true) {
      const uint32_t unit = next_unit_.fetch_add(1, std::memory_order_relaxed);
      if (unit > sizes_.warehouses) return absl::OkStatus();
      LATCHKEY_RETURN_IF_ERROR(unit == 0
                                   ? loader.LoadItems(progress)
                                   : loader.LoadWarehouse(static_cast<uint16_t>(unit), progress));
    }
  }

  absl::Status Progress(uint64_t rows) {
    MutexLock lock(mutex_);
    LATCHKEY_RETURN_IF_ERROR(error_);
    if (config_.stop != nullptr && config_.stop->load(std::memory_order_relaxed)) {
      return absl::CancelledError("the load was interrupted: remove the database");
    }
    rows_ += rows;
    const uint64_t percent = rows_ * 100 / total_rows_;
    if (options_.progress && percent != reported_percent_) options_.progress(rows_, total_rows_);
    reported_percent_ = percent;
    return absl::OkStatus();
  }

  void Fail(absl::Status status) {
    MutexLock lock(mutex_);
    error_.Update(std::move(status));
  }

  KvBackend& backend_;
  const TpccConfig& config_;
  const TpccLoadOptions& options_;
  Runtime& runtime_;
  const TpccScale sizes_;
  const uint64_t total_rows_;
  std::atomic<uint32_t> next_unit_{0};
  Mutex mutex_;  // guards the members below
  uint64_t rows_ = 0;
  uint64_t reported_percent_ = 0;
  absl::Status error_;
};

}  // namespace

absl::Status LoadTpcc(KvBackend& backend, const TpccConfig& config, const TpccLoadOptions& options,
                      Runtime& runtime) {
  LATCHKEY_RETURN_IF_ERROR(config.Validate());
  LATCHKEY_ASSIGN_OR_RETURN(const auto found, ReadTpccDescription(backend));
  if (found.has_value()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the database holds {} warehouses already: prepare an empty one",
                      found->warehouses);
  }
  const TpccDistributions distributions = TpccDistributions::ForLoad(config.Sizes(), config.seed);
  TpccDescription description{.warehouses = config.warehouses,
                              .scale = config.scale,
                              .seed = config.seed,
                              .last_name_constant = distributions.last_name.c};
  LATCHKEY_RETURN_IF_ERROR(WriteTpccDescription(backend, description));
  LATCHKEY_RETURN_IF_ERROR(ParallelLoad(backend, config, options, runtime).Run());
  description.complete = true;
  LATCHKEY_RETURN_IF_ERROR(WriteTpccDescription(backend, description));
  return backend.Checkpoint();
}

std::vector<std::string> TpccTableNames() {
  return {"warehouse",  "district", "customer", "history",       "new_order",      "orders",
          "order_line", "item",     "stock",    "customer_name", "customer_order", "meta"};
}

bool IsTpccIndex(std::string_view table) {
  const std::vector<std::string> names = TpccTableNames();
  return table == names[kCustomerNameIndex] || table == names[kCustomerOrderIndex];
}

}  // namespace latchkey
