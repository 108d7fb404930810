#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/campaign/faults/fault_campaign.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/seed_range.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

struct Flags {
  std::vector<std::string> layouts = LayoutItems();
  std::vector<std::string> phases;
  std::vector<std::string> durabilities;
  std::string kind = "io";
  std::vector<std::string> faults;
  std::string seeds = "1";
  std::string mode;
};

std::vector<std::string> PhaseNames() {
  std::vector<std::string> names;
  for (const FaultPhase phase : AllFaultPhases()) names.emplace_back(FaultPhaseName(phase));
  return names;
}

void AddFlags(CampaignFlags& command, Flags& flags, FaultCampaignOptions& options) {
  command.Add("--layout", flags.layouts, "Layouts, separated by commas")
      .SeparatedByCommas()
      .OneOf(LayoutItems())
      .ShowDefault();
  command
      .Add("--durability", flags.durabilities,
           "Of the database: commit, group, none; unless named commit, and for memory all")
      .SeparatedByCommas()
      .OneOf({"commit", "group", "none"});
  command.Add("--phase", flags.phases, "What the database does meanwhile; all unless named")
      .SeparatedByCommas()
      .OneOf(PhaseNames());
  command.Add("--kind", flags.kind, "What fails").OneOf(FaultSourceKinds()).ShowDefault();
  command.Add("--fault", flags.faults, "In which way; all of the kind unless named")
      .SeparatedByCommas();
  command.Add("--seeds", flags.seeds, "FIRST..LAST, or one").ShowDefault();
  command
      .Add("--calls", options.max_calls,
           "Failing calls of one layout, phase and fault; 0 = all, one after the other")
      .ShowDefault();
  command
      .Add("--power-losses", options.power_losses,
           "Power losses in each life behind its first fault")
      .Range(0, 1'000'000)
      .ShowDefault();
  command.Add("--max-failures", options.max_failures, "Stop behind so many")
      .Range(1, 100'000)
      .ShowDefault();
  command.Add("--call", options.only_call, "Only this call: to repeat a failure");
  command.Add("--mode", flags.mode, "once, from-then-on; both unless named")
      .OneOf({"once", "from-then-on"});
}

// Returns false if a flag has an unknown name.
bool Resolve(const Flags& flags, FaultCampaignOptions* options) {
  options->layouts = flags.layouts;
  options->durabilities.clear();
  for (const Durability durability : {Durability::kCommit, Durability::kGroup, Durability::kNone}) {
    const bool unless_named = flags.kind == "memory" || durability == Durability::kCommit;
    const bool named = std::ranges::find(flags.durabilities, FaultDurabilityName(durability)) !=
                       flags.durabilities.end();
    if (flags.durabilities.empty() ? unless_named : named) {
      options->durabilities.push_back(durability);
    }
  }
  for (const FaultPhase phase : AllFaultPhases()) {
    if (flags.phases.empty() ||
        std::ranges::find(flags.phases, FaultPhaseName(phase)) != flags.phases.end()) {
      options->phases.push_back(phase);
    }
  }
  std::vector<std::string> unknown = flags.faults;
  std::vector<std::string> known;
  for (std::unique_ptr<FaultSource>& source : FaultSourcesOf(flags.kind)) {
    known.push_back(source->name());
    std::erase(unknown, known.back());
    if (flags.faults.empty() ||
        std::ranges::find(flags.faults, known.back()) != flags.faults.end()) {
      options->sources.push_back(std::move(source));
    }
  }
  if (!unknown.empty()) {
    fmt::print(stderr, "--fault={}: of --kind={} there are {}\n", unknown[0], flags.kind,
               fmt::join(known, ", "));
    return false;
  }
  if (!flags.mode.empty()) options->only_from_then_on = flags.mode == "from-then-on";
  if (!ParseSeeds(flags.seeds, options)) {
    fmt::print(stderr, "--seeds={}: FIRST..LAST, or one\n", flags.seeds);
    return false;
  }
  return true;
}

}  // namespace

int RunFaultCommand(const std::vector<std::string>& arguments) {
  CampaignFlags command("Fails one call after the other in each phase of a database's life");
  Flags flags;
  FaultCampaignOptions options;
  AddFlags(command, flags, options);
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (!Resolve(flags, &options)) return 2;
  const double start = ProcessorSeconds();
  const FaultReport report = RunFaultCampaign(options);
  for (const FaultFailure& failure : report.failures) {
    fmt::print("WRONG: --kind={} {}\n", flags.kind, failure.Describe());
  }
  for (const auto& [phase, runs] : report.runs_of) fmt::print("{}: {} runs\n", phase, runs);
  fmt::print(
      "counts: faults{} runs={} injected={} commits={} refused={} read_only={} "
      "sync_failed={} written_again={} read_back={} reopens={} power_losses={} "
      "power_losses_in_life={} lived_on={} writable={} mistakes={} "
      "history={:016x} "
      "cpu_seconds={:.1f}\n",
      flags.kind == "io" ? "" : "-" + flags.kind, report.runs, report.injected, report.commits,
      report.refused, report.read_only, report.sync_failed, report.written_again, report.read_back,
      report.reopens, report.power_losses, report.power_losses_in_life, report.lived_on,
      report.writable, report.failures.size(), report.hash, ProcessorSeconds() - start);
  return report.failures.empty() ? 0 : 1;
}

}  // namespace latchkey
