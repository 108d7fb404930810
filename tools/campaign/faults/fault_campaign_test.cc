#include "tools/campaign/faults/fault_campaign.h"

#include <catch2/catch.hpp>

#include "storage/base/sanitizers.h"

namespace latchkey::fault_campaign_test {
namespace {

FaultCampaignOptions Small(const std::string& layout, uint64_t calls) {
  FaultCampaignOptions options;
  options.layouts = {layout};
  options.phases.assign(AllFaultPhases().begin(), AllFaultPhases().end());
  options.sources = DeviceFaultSources();
  options.max_calls = calls;
  return options;
}

TEST_CASE(
    "Whatever call of a device fails, what was acknowledged stays and errors say what to do") {
  if (kSanitizer) return;  // the campaign itself runs there
  const char* layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  CAPTURE(layout);
  const FaultReport report = RunFaultCampaign(Small(layout, 2));
  for (const FaultFailure& failure : report.failures) FAIL(failure.Describe());
  CHECK(report.runs >= AllFaultPhases().size() * 10);
  CHECK(report.runs_of.size() == AllFaultPhases().size());
  CHECK(report.sync_failed > 0);
  CHECK(report.written_again > 0);
  CHECK(report.read_only > 0);
  CHECK(report.read_only < report.runs);
  CHECK(report.power_losses > 0);
  CHECK(report.power_losses_in_life > 0);
  CHECK(report.lived_on > 0);
}

TEST_CASE("Whichever allocation fails, calls have no effect or an effect that lasts") {
  FaultCampaignOptions options = Small(GENERATE("overwrite", "hylog"), 2);
  options.durabilities = {Durability::kCommit, Durability::kGroup, Durability::kNone};
  options.sources = MemoryFaultSources();
  const FaultReport report = RunFaultCampaign(options);
  for (const FaultFailure& failure : report.failures) FAIL(failure.Describe());
  CHECK(report.runs >= AllFaultPhases().size() * 8);
  CHECK(report.runs_of.size() == AllFaultPhases().size());
  CHECK(report.refused > 0);
  CHECK(report.read_only < report.runs);
}

TEST_CASE("Equal seeds fail in equal ways, other seeds in others") {
  if (kSanitizer) return;  // what it runs is what the campaign runs there
  const bool in_memory = GENERATE(false, true);
  const auto run = [in_memory](uint64_t seed) {
    FaultCampaignOptions options = Small("hylog", 1);
    if (in_memory) options.sources = MemoryFaultSources();
    options.first_seed = seed;
    return RunFaultCampaign(options).hash;
  };
  const uint64_t first = run(3);
  CHECK(run(3) == first);
  CHECK(run(4) != first);
}

/// Calls that fail with a status that is not documented for them.
class Undocumented final : public FaultSource {
 public:
  explicit Undocumented(std::unique_ptr<FaultSource> source) : source_(std::move(source)) {}

  std::string name() const override { return source_->name(); }
  void Arm(CrashMachine& machine, const FaultPoint& point) override {
    source_->Arm(machine, point);
  }
  void Disarm(CrashMachine& machine) override { source_->Disarm(machine); }
  uint64_t calls(const CrashMachine& machine) const override { return source_->calls(machine); }
  uint64_t injected(const CrashMachine& machine) const override {
    return source_->injected(machine);
  }
  bool IsDocumented(const absl::Status&) const override { return false; }

 private:
  const std::unique_ptr<FaultSource> source_;
};

TEST_CASE("A mistake comes with the flags that repeat it alone") {
  FaultCampaignOptions options = Small("lfs", 3);
  options.phases = {FaultPhase::kCommit};
  options.sources.clear();
  options.sources.push_back(std::make_unique<Undocumented>(std::move(DeviceFaultSources().back())));
  options.max_failures = 1;
  const FaultReport report = RunFaultCampaign(options);
  REQUIRE(report.failures.size() == 1);
  const FaultFailure& first = report.failures.front();
  CHECK_THAT(
      first.Describe(),
      Catch::Contains("--layout=lfs --durability=commit --phase=commit --fault=sync-error") &&
          Catch::Contains("--call=") && Catch::Contains("--mode=once"));
  options.only_call = first.point.call;
  options.only_from_then_on = first.point.from_then_on;
  const FaultReport again = RunFaultCampaign(options);
  REQUIRE(again.failures.size() == 1);
  CHECK(again.failures.front().Describe() == first.Describe());
  CHECK(again.runs == 1);
}

}  // namespace
}  // namespace latchkey::fault_campaign_test
