#include "tpcc-lite/kv/virtual_time.h"

#include <utility>

#include "engine/database_impl.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/kv/latchkey_backend.h"

namespace latchkey {
namespace {

class ChargedSession final : public KvSession {
 public:
  ChargedSession(std::unique_ptr<KvSession> session, Runtime& runtime, Nanos cpu)
      : session_(std::move(session)), runtime_(runtime), cpu_(cpu) {}

  absl::Status Begin() override { return Charged().Begin(); }
  absl::Status Commit() override { return Charged().Commit(); }
  absl::Status Rollback() override { return Charged().Rollback(); }
  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override {
    return Charged().Get(table, key, value);
  }
  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override {
    return Charged().GetForUpdate(table, key, value);
  }
  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override {
    return Charged().Put(table, key, value);
  }
  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override {
    return Charged().Insert(table, key, value);
  }
  absl::Status Delete(TableIndex table, std::string_view key) override {
    return Charged().Delete(table, key);
  }
  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return Charged().Scan(table, from, to, reverse, visit);
  }
  void Prefetch(std::span<const TableKey> keys) override { session_->Prefetch(keys); }
  bool lookups_pay() const override { return session_->lookups_pay(); }
  absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) override {
    return Charged().GetAuto(table, key, value);
  }
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override {
    return Charged().PutAuto(table, key, value);
  }
  absl::Status PutManyAuto(TableIndex table, std::span<const KvRecord> records) override {
    return Charged(records.size()).PutManyAuto(table, records);
  }
  absl::Status DeleteAuto(TableIndex table, std::string_view key) override {
    return Charged().DeleteAuto(table, key);
  }
  absl::Status LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) override {
    return session_->LoadSorted(table, [&](KvRecord* record) {
      runtime_.SleepFor(cpu_);
      return next(record);
    });
  }
  absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                               std::string_view to) override {
    return Charged().DeleteRangeAuto(table, from, to);
  }

 private:
  KvSession& Charged(uint64_t operations = 1) {
    runtime_.SleepFor(cpu_ * static_cast<Nanos>(operations));
    return *session_;
  }

  const std::unique_ptr<KvSession> session_;
  Runtime& runtime_;
  const Nanos cpu_;
};

/// A backend on a simulated device, in which the operations of sessions take virtual time.
class VirtualBackend final : public KvBackend {
 public:
  /// `data`: the device of the data file, which `backend` owns.
  VirtualBackend(std::unique_ptr<KvBackend> backend, const BlockDevice& data, Runtime& runtime,
                 Nanos cpu)
      : backend_(std::move(backend)), data_(&data), runtime_(runtime), cpu_(cpu) {}

  std::string Name() const override { return backend_->Name(); }
  std::vector<std::string> Warnings() const override { return backend_->Warnings(); }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override {
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<KvSession> session, backend_->NewSession());
    if (cpu_ == 0) return session;
    return std::make_unique<ChargedSession>(std::move(session), runtime_, cpu_);
  }
  absl::Status Checkpoint() override { return backend_->Checkpoint(); }
  absl::Status Close() override {
    data_ = nullptr;
    return backend_->Close();
  }
  KvStatistics GetStatistics() const override {
    KvStatistics statistics = backend_->GetStatistics();
    if (data_ != nullptr) statistics.medium = data_->stats().medium;
    return statistics;
  }
  void ResetExtremes() override { backend_->ResetExtremes(); }
  std::vector<PageId> TreeRoots() const override { return backend_->TreeRoots(); }
  void SetFixRecorder(FixRecorder* recorder) override { backend_->SetFixRecorder(recorder); }

 private:
  const std::unique_ptr<KvBackend> backend_;
  const BlockDevice* data_;  // nullptr: closed
  Runtime& runtime_;
  const Nanos cpu_;
};

absl::StatusOr<DatabaseDevices> NewDevices(const KvOptions& options) {
  Runtime& runtime = *options.runtime;
  const DeviceSpec alone = options.device.OfOneDisk();
  DatabaseDevices devices;
  LATCHKEY_ASSIGN_OR_RETURN(devices.data, OpenDeviceOf(runtime, options.device, options.path));
  LATCHKEY_ASSIGN_OR_RETURN(devices.spill, OpenDeviceOf(runtime, alone, options.path + ".spill"));
  if (options.durability == Durability::kNone) return devices;
  LATCHKEY_ASSIGN_OR_RETURN(devices.log, OpenDeviceOf(runtime, alone, options.path + ".log"));
  LATCHKEY_ASSIGN_OR_RETURN(devices.journal, OpenDeviceOf(runtime, alone, options.path + ".map"));
  return devices;
}

}  // namespace

SimulationOptions VirtualTimeOptions(uint64_t seed) {
  SimulationOptions simulation;
  simulation.seed = seed;
  simulation.step_cost = 0;  // time passes only where these options say so
  simulation.stack_bytes = 1 << 20;
  return simulation;
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenInVirtualTime(const KvOptions& options,
                                                             const Options& engine_options) {
  Runtime& runtime = *options.runtime;
  LATCHKEY_ASSIGN_OR_RETURN(DatabaseDevices devices, NewDevices(options));
  const BlockDevice& data = *devices.data;
  LATCHKEY_ASSIGN_OR_RETURN(
      std::unique_ptr<DatabaseImpl> database,
      DatabaseImpl::OpenOverDevices(runtime, std::move(devices), engine_options));
  LATCHKEY_ASSIGN_OR_RETURN(
      std::unique_ptr<KvBackend> backend,
      NewLatchkeyBackend(DatabaseImpl::AsDatabase(std::move(database)), options.tables));
  return std::make_unique<VirtualBackend>(std::move(backend), data, runtime,
                                          options.cpu_per_operation);
}

}  // namespace latchkey
