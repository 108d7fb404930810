#include "tools/campaign/faults/fault_source.h"

#include <optional>

#include "storage/device/faulty/fault_injector.h"
#include "tools/campaign/crash/crash_monitor.h"

namespace latchkey {
namespace {

class DeviceFaults final : public FaultSource {
 public:
  explicit DeviceFaults(FaultKind kind) : kind_(kind) {}

  std::string name() const override { return FaultKindName(kind_); }
  void Arm(CrashMachine& machine, const FaultPoint& point) override {
    machine.disks->SetFault(Fault{.kind = kind_,
                                  .at_call = point.call,
                                  .from_then_on = point.from_then_on,
                                  .seed = point.seed,
                                  .only_disk = OnlyDisk()});
  }
  void Disarm(CrashMachine& machine) override { machine.disks->StopFaults(); }
  uint64_t calls(const CrashMachine& machine) const override {
    return machine.disks->faultable_calls();
  }
  uint64_t injected(const CrashMachine& machine) const override {
    return machine.disks->injected_faults();
  }
  // The device has failed or is full; or the cache is full of pages that cannot be written.
  bool IsDocumented(const absl::Status& status) const override {
    return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  }

 private:
  // A log with a bad place takes no commit, whatever the store does.
  std::optional<uint32_t> OnlyDisk() const {
    if (kind_ != FaultKind::kBadPlace) return std::nullopt;
    return DatabaseOnDisks::kData;
  }

  const FaultKind kind_;
};

class StayingFaults final : public FaultSource {
 public:
  std::string name() const override { return "bad places that stay"; }
  void Arm(CrashMachine&, const FaultPoint&) override {}
  void Disarm(CrashMachine&) override {}
  uint64_t calls(const CrashMachine& machine) const override { return injected(machine); }
  uint64_t injected(const CrashMachine& machine) const override {
    uint64_t failed = 0;
    for (uint32_t disk = 0; disk < machine.disks->disks(); ++disk) {
      failed += machine.disks->failed_calls(disk, DeviceCall::kWrite);
    }
    return failed;
  }
  bool IsDocumented(const absl::Status& status) const override {
    return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
  }
};

}  // namespace

std::unique_ptr<FaultSource> BadPlacesThatStay() { return std::make_unique<StayingFaults>(); }

std::vector<std::unique_ptr<FaultSource>> DeviceFaultSources() {
  std::vector<std::unique_ptr<FaultSource>> sources;
  for (const FaultKind kind : {FaultKind::kIoError, FaultKind::kNoSpace, FaultKind::kShort,
                               FaultKind::kBadPlace, FaultKind::kSyncError}) {
    sources.push_back(std::make_unique<DeviceFaults>(kind));
  }
  return sources;
}

std::vector<std::string> FaultSourceKinds() { return {"io", "memory"}; }

std::vector<std::unique_ptr<FaultSource>> FaultSourcesOf(const std::string& kind) {
  if (kind == "io") return DeviceFaultSources();
  if (kind == "memory") return MemoryFaultSources();
  return {};
}

}  // namespace latchkey
