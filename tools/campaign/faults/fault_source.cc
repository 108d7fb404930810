#include "tools/campaign/faults/fault_source.h"

#include "storage/device/faulty/fault_injector.h"

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
                                  .seed = point.seed});
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
  const FaultKind kind_;
};

}  // namespace

std::vector<std::unique_ptr<FaultSource>> DeviceFaultSources() {
  std::vector<std::unique_ptr<FaultSource>> sources;
  for (const FaultKind kind :
       {FaultKind::kIoError, FaultKind::kNoSpace, FaultKind::kShort, FaultKind::kSyncError}) {
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
