#include "tools/campaign/canary/canary_campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "storage/base/canary.h"
#include "tools/campaign/shared/campaign_directory.h"
#include "tools/campaign/shared/campaign_flags.h"

namespace latchkey {
namespace {

class Hunter {
 public:
  Hunter(Runtime& runtime, std::span<const CanaryNet> nets, const CanaryOptions& options)
      : runtime_(runtime), nets_(nets), options_(options) {}

  // The mistake that the net reports without a canary; empty: none, as expected.
  std::string TryWithout(const CanaryNet& net) {
    const HuntResult result = Try(net, "");
    if (result.end == HuntEnd::kPassed) return {};
    return fmt::format("without a canary, {} ({}): {}", net.name, fmt::join(net.arguments, " "),
                       result.what);
  }

  CanaryFate TryAll(const Canary& canary) {
    CanaryFate fate{.canary = &canary};
    for (const CanaryNet* net : OrderFor(canary)) {
      fate.net = net;
      fate.result = Try(*net, std::string(canary.name));
      fate.met += fate.result.met;
      if (fate.result.caught()) break;
    }
    return fate;
  }

  uint64_t runs() const { return runs_.load(); }

 private:
  std::vector<const CanaryNet*> OrderFor(const Canary& canary) const {
    std::vector<const CanaryNet*> order;
    for (const CanaryNet& net : nets_) order.push_back(&net);
    std::stable_partition(order.begin(), order.end(),
                          [&](const CanaryNet* net) { return net->name == canary.net; });
    return order;
  }

  HuntResult Try(const CanaryNet& net, const std::string& canary) {
    ++runs_;
    const HuntOrder order{.program = options_.program,
                          .arguments = net.arguments,
                          .canary = canary,
                          .unit = std::string(net.unit),
                          .limit = options_.limit_s * kNanosPerSecond};
    absl::StatusOr<HuntResult> result = Hunt(runtime_, order);
    if (result.ok()) return *std::move(result);
    HuntResult failed;
    failed.what = std::string(result.status().message());
    return failed;
  }

  Runtime& runtime_;
  const std::span<const CanaryNet> nets_;
  const CanaryOptions& options_;
  std::atomic<uint64_t> runs_{0};
};

// Runs body(0) to body(count - 1), `jobs` at a time.
void ForEach(Runtime& runtime, size_t count, uint32_t jobs,
             const std::function<void(size_t)>& body) {
  std::atomic<size_t> next{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t j = 0; j < std::max<uint32_t>(jobs, 1); ++j) {
    actors.push_back(runtime.Spawn("canary hunter", [&] {
      for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) body(i);
    }));
  }
  for (const auto& actor : actors) actor->Join();
}

// The beginning of a line, without unprintable bytes.
std::string Printable(std::string_view text) {
  constexpr size_t kShown = 300;
  std::string shown(text.substr(0, kShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < 0x20 || c == 0x7f; }, '?');
  return shown;
}

// The command that repeats it, then the finding.
std::string Describe(const CanaryFate& fate) {
  std::string work;
  if (fate.result.work) work = fmt::format(" after {} {}", *fate.result.work, fate.net->unit);
  if (fate.result.end == HuntEnd::kCheck) work = " by a check of the engine";
  if (!fate.result.caught()) {
    return fmt::format("NOT CAUGHT {}: {}; its place was met {} times ({})", fate.canary->name,
                       fate.canary->bug, fate.met,
                       fate.result.what.empty() ? "all runs passed" : Printable(fate.result.what));
  }
  return fmt::format("caught {} by {}{}: {}\n    LATCHKEY_CANARY={} latchkey_campaign {}\n    {}",
                     fate.canary->name, fate.net->name, work, fate.canary->bug, fate.canary->name,
                     fmt::join(fate.net->arguments, " "), Printable(fate.result.what));
}

int List() {
  for (const Canary& canary : Canaries()) {
    fmt::print("{:<40} {:<16} {}\n", canary.name, canary.net, canary.bug);
  }
  return 0;
}

// Selects the canaries named, or all.
bool Select(const std::vector<std::string>& names, std::vector<const Canary*>* canaries) {
  for (const std::string& name : names) {
    canaries->push_back(FindCanary(name));
    if (canaries->back() != nullptr) continue;
    fmt::print(stderr, "no canary is called {}; --list names them\n", name);
    return false;
  }
  if (!names.empty()) return true;
  for (const Canary& canary : Canaries()) canaries->push_back(&canary);
  return true;
}

int Print(const CanaryReport& report, double seconds) {
  for (const CanaryFate& fate : report.fates) fmt::print("{}\n", Describe(fate));
  for (const std::string& line : report.wrong) fmt::print("WRONG {}\n", line);
  fmt::print("counts: canaries caught={} of={} runs={} wrong_controls={} seconds={:.0f}\n",
             report.caught, report.fates.size(), report.runs, report.wrong.size(), seconds);
  return report.caught == report.fates.size() && report.wrong.empty() ? 0 : 1;
}

}  // namespace

CanaryReport HuntCanaries(Runtime& runtime, std::span<const Canary* const> canaries,
                          std::span<const CanaryNet> nets, const CanaryOptions& options) {
  Hunter hunter(runtime, nets, options);
  CanaryReport report;
  report.fates.resize(canaries.size());
  std::vector<std::string> controls(nets.size());
  // The runs without a canary take longest, so they start first.
  ForEach(runtime, nets.size() + canaries.size(), options.jobs, [&](size_t i) {
    if (i < nets.size()) {
      controls[i] = hunter.TryWithout(nets[i]);
    } else {
      report.fates[i - nets.size()] = hunter.TryAll(*canaries[i - nets.size()]);
    }
  });
  for (std::string& line : controls) {
    if (!line.empty()) report.wrong.push_back(std::move(line));
  }
  for (const CanaryFate& fate : report.fates) report.caught += fate.result.caught();
  report.runs = hunter.runs();
  return report;
}

int RunCanaryCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command("Seeded bugs of the engine, each of which a campaign must find");
  CanaryOptions options;
  std::vector<std::string> only;
  bool list = false;
  command.Add("--only", only, "Canaries by name, separated by commas").SeparatedByCommas();
  command.Add("--jobs", options.jobs, "Runs at a time").Range(1, 256).ShowDefault();
  command.Add("--limit", options.limit_s, "Seconds for one run, which fails when they are over")
      .Range(1, 86'400)
      .ShowDefault();
  command.Add("--list", list, "Name them, with the campaign tried first, and run nothing");
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  if (list) return List();
  std::vector<const Canary*> canaries;
  if (!Select(only, &canaries)) return 2;
  if (!kHasCanaries) {
    fmt::print(stderr, "this program has no canaries: cmake --build --preset canaries\n");
    return 2;
  }
  std::error_code error;
  options.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) {
    fmt::print(stderr, "cannot tell the path of this program: {}\n", error.message());
    return 2;
  }
  // A campaign that finds a mistake keeps its stores. Those of seeded bugs help nobody.
  const std::unique_ptr<CampaignDirectory> directory = MakeDirectoryOrSay("");
  if (directory == nullptr) return 2;
  setenv("TMPDIR", directory->path().c_str(), /*overwrite=*/1);
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  const CanaryReport report = HuntCanaries(runtime, canaries, CanaryNets(), options);
  return Print(report, static_cast<double>(runtime.Now() - start) / kNanosPerSecond);
}

}  // namespace latchkey
