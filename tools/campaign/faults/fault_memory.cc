// The source of failing allocations: the fault campaign with --kind=memory.
#include <string_view>

#include "storage/testing/failing_new.h"
#include "tools/campaign/faults/fault_source.h"

namespace latchkey {
namespace {

class AllocationSource final : public FaultSource {
 public:
  std::string name() const override { return "allocation"; }
  void Arm(CrashMachine&, const FaultPoint& point) override {
    AllocationFaults::Arm(point.call == FaultPoint::kNever ? AllocationFaults::kNever : point.call,
                          point.from_then_on);
  }
  void Disarm(CrashMachine&) override { AllocationFaults::Disarm(); }
  uint64_t calls(const CrashMachine&) const override { return AllocationFaults::count(); }
  uint64_t injected(const CrashMachine&) const override { return AllocationFaults::injected(); }
  // The status names memory; or the store is read-only for want of memory, and the status says so.
  bool IsDocumented(const absl::Status& status) const override {
    const std::string_view text(status.message().data(), status.message().size());
    return (absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) &&
           (text.find("memory") != text.npos || text.find("reopen") != text.npos);
  }
};

}  // namespace

std::vector<std::unique_ptr<FaultSource>> MemoryFaultSources() {
  std::vector<std::unique_ptr<FaultSource>> sources;
  sources.push_back(std::make_unique<AllocationSource>());
  return sources;
}

}  // namespace latchkey
