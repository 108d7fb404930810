#include "tools/campaign/crash/crash_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/option_names.h"
#include "tools/campaign/crash/crash_busy_database.h"
#include "tools/campaign/crash/crash_campaign.h"
#include "tools/campaign/crash/crash_toy.h"
#include "tools/campaign/crash/crash_workload.h"
#include "tools/campaign/shared/add_members.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/seed_range.h"
#include "tools/campaign/shared/technique_items.h"
#include "tools/campaign/store/bare_store.h"

namespace latchkey {
namespace {

struct Flags {
  std::vector<std::string> subjects = LayoutItems();
  BusyDatabaseChoices choices = BusyDatabaseChoices::All();
  std::vector<std::string> durabilities, protections;
  std::string seeds = "1..4";
  uint64_t states = 2000;
  uint32_t transactions = 400;
  CrashCampaignOptions campaign;
  std::optional<uint64_t> position;
  std::string variant;
};

void AddFlags(CampaignFlags& command, Flags& flags) {
  command
      .Add("--layout", flags.subjects,
           "Layouts, store:LAYOUT without a log above, toy or toy:BUG, separated by commas")
      .SeparatedByCommas()
      .ShowDefault();
  const auto choice = [&command](const char* name, auto& values, const char* what) {
    return command.Add(name, values, fmt::format("{}; each seed draws one", what))
        .SeparatedByCommas();
  };
  choice("--segment-cleaning", flags.choices.segment_cleanings, "Segment cleaning policies");
  choice("--replacement", flags.choices.replacements, "Replacement algorithms");
  choice("--synchronization", flags.choices.synchronizations, "Synchronisation schemes");
  choice("--durability", flags.durabilities, "commit, group").OneOf({"commit", "group"});
  choice("--torn-write-protection", flags.protections, "Of writes in place")
      .OneOf(TornWriteProtections().Names());
  choice("--page-size", flags.choices.page_sizes, "Bytes");
  choice("--space-utilization", flags.choices.space_utilizations, "0.5 to 0.98").Range(0.5, 0.98);
  choice("--cleaners", flags.choices.cleaners, "Page cleaners, 0 to 64").Range(0, 64);
  choice("--users", flags.choices.users, "Users at once").Range(1u, CrashWorkload::kMostUsers);
  choice("--flash", flags.choices.flashes, "1: the disk of the data forgets what was discarded")
      .Range(0, 1);
  command.Add("--seeds", flags.seeds, "FIRST..LAST, or one").ShowDefault();
  command.Add("--states", flags.states, "Crash states of one seed; 0 = all").ShowDefault();
  command.Add("--transactions", flags.transactions, "Of one run").ShowDefault();
  command
      .Add("--exhaustive-sectors", flags.campaign.choices.exhaustive_sectors,
           "Every subset when at most so many sectors are pending")
      .Range(0, 16);
  command
      .Add("--recovery-every", flags.campaign.recovery_every,
           "Crash inside the recovery of every n-th state; 0 = never")
      .ShowDefault();
  command.Add("--recovery-states", flags.campaign.recovery_states, "In so many states")
      .ShowDefault();
  command.Add("--max-failures", flags.campaign.max_failures, "Stop a combination behind so many")
      .Range(1, 1000)
      .ShowDefault();
  command.Add("--position", flags.position, "Only this position: to repeat a failure");
  command.Add("--variant", flags.variant, "Only this NAME:INDEX there");
}

// Parses "sectors:3".
bool ParseChoice(const std::string& text, CrashCampaignOptions* options) {
  if (text.empty()) return true;
  const size_t colon = text.find(':');
  const auto variant = CrashVariantOf(text.substr(0, colon));
  CrashChoice choice;
  if (!variant) return false;
  choice.variant = *variant;
  if (colon != std::string::npos) {
    const std::optional<uint64_t> index = ParseNumber(text.substr(colon + 1));
    if (!index) return false;
    choice.index = *index;
  }
  options->only_choice = choice;
  return true;
}

// Subjects that are no database. nullptr: `name` is a layout, or unknown.
std::unique_ptr<CrashSubject> NewOther(const std::string& name, uint32_t transactions) {
  const std::vector<std::string>& layouts = LayoutItems();
  if (name.starts_with(BareStore::kPrefix)) {
    const std::string layout = name.substr(BareStore::kPrefix.size());
    const bool is_known = std::ranges::find(layouts, layout) != layouts.end();
    return is_known ? std::make_unique<BareStore>(layout, transactions) : nullptr;
  }
  if (name == "toy") return std::make_unique<ToySubject>(ToyBug::kNone, transactions);
  for (ToyBug bug : kAllToyBugs) {
    if (name == std::string("toy:") + ToyBugName(bug)) {
      return std::make_unique<ToySubject>(bug, transactions);
    }
  }
  return nullptr;
}

void Print(const std::string& name, const CrashReport& report, double cpu_seconds) {
  fmt::print(
      "crash {}: {} runs, {} transactions, {} events, {} boundaries, {} states ({} in recovery), "
      "{} mistakes; {:.1f} CPU s, {:.0f} states/CPU s; history {:016x}\n",
      name, report.runs, report.transactions, report.events, report.boundaries, report.states,
      report.recovery_states, report.failures.size(), cpu_seconds,
      static_cast<double>(report.states) / std::max(cpu_seconds, 1e-3), report.history_hash);
  std::fflush(stdout);
}

void Add(const CrashReport& from, CrashReport* to) {
  using R = CrashReport;
  AddMembers<&R::runs, &R::transactions, &R::events, &R::boundaries, &R::states,
             &R::recovery_states, &R::failures>(from, to);
  to->history_hash = to->history_hash * 31 + from.history_hash;
}

class Command {
 public:
  Command(const Flags& flags, const CrashCampaignOptions& options)
      : flags_(flags), options_(options) {}

  /// Returns whether no mistake was found.
  bool Run() {
    const double start = ProcessorSeconds();
    for (const std::string& name : flags_.subjects) {
      if (const auto other = NewOther(name, flags_.transactions)) {
        Try(*other);
        continue;
      }
      VariedBusyDatabase database(flags_.choices,
                                  {.layout = name, .transactions = flags_.transactions});
      Try(database);
      tally_.Add(database.tally());
    }
    const double seconds = ProcessorSeconds() - start;
    if (flags_.subjects.size() > 1) Print("in all", total_, seconds);
    fmt::print(
        "counts: crash runs={} boundaries={} states={} recovery_states={} mistakes={} "
        "cpu_seconds={:.1f}{}\n",
        total_.runs, total_.boundaries, total_.states, total_.recovery_states,
        total_.failures.size(), seconds, tally_.Describe());
    return total_.failures.empty();
  }

 private:
  void Try(CrashSubject& subject) {
    const double before = ProcessorSeconds();
    const CrashReport report = RunCrashCampaign(subject, options_);
    const std::string protection =
        flags_.protections.empty()
            ? ""
            : fmt::format(" --torn-write-protection={}", fmt::join(flags_.protections, ","));
    for (const CrashFailure& failure : report.failures) {
      fmt::print("WRONG after {} states, {}: --layout={}{} {}\n", failure.states_before,
                 subject.Describe(failure.seed), subject.name(), protection, failure.Describe());
    }
    Print(subject.name(), report, ProcessorSeconds() - before);
    Add(report, &total_);
  }

  const Flags& flags_;
  const CrashCampaignOptions options_;
  CrashReport total_;
  CrashTally tally_;
};

}  // namespace

int RunCrashCommand(const std::vector<std::string>& arguments) {
  CampaignFlags command(
      "Crashes a recorded workload at every event, in every variant of lost writes");
  Flags flags;
  AddFlags(command, flags);
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  for (const std::string& name : flags.subjects) {
    const std::vector<std::string>& layouts = LayoutItems();
    if (NewOther(name, 1) == nullptr && std::ranges::find(layouts, name) == layouts.end()) {
      fmt::print(stderr, "--layout={}: {}, store:LAYOUT, toy or toy:BUG\n", name,
                 fmt::join(layouts, ", "));
      return 2;
    }
  }
  CrashCampaignOptions options = flags.campaign;
  options.max_states = flags.states;
  options.only_position = flags.position;
  if (!ParseSeeds(flags.seeds, &options) || !ParseChoice(flags.variant, &options)) {
    fmt::print(stderr, "--seeds is FIRST..LAST; --variant is NAME:INDEX as a failure prints it\n");
    return 2;
  }
  if (!flags.durabilities.empty()) flags.choices.durabilities.clear();
  for (const std::string& name : flags.durabilities) {
    flags.choices.durabilities.push_back(Durabilities().Named(name).entry().value);
  }
  if (!flags.protections.empty()) flags.choices.protections.clear();
  for (const std::string& name : flags.protections) {
    flags.choices.protections.push_back(TornWriteProtections().Named(name).entry().value);
  }
  return Command(flags, options).Run() ? 0 : 1;
}

}  // namespace latchkey
