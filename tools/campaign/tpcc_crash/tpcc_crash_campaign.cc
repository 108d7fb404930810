#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/technique_items.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"

namespace latchkey {
namespace {

void AddFlags(CLI::App& app, TpccCrashOptions& options, std::string& parent) {
  app.add_option("--kills", options.kills, "Processes killed")->capture_default_str();
  app.add_option("--power-losses", options.power_losses, "On simulated disks")
      ->capture_default_str();
  app.add_option("--crashes-per-store", options.crashes_per_store, "Then comes the next store")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--db", parent, "Directory for the stores; else $TMPDIR, else the working one");
  app.add_option("--seed", options.seed, "Of all choices but those of time")->capture_default_str();
  app.add_option("--users", options.users, "At a time")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  app.add_option("--scale", options.scale, "Of the warehouse")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  app.add_option("--layout", options.layouts, "Layouts, one store after the other")
      ->delimiter(',')
      ->check(CLI::IsMember(LayoutItems()));
}

void PrintReport(const TpccCrashReport& report, uint64_t seed, double seconds) {
  if (!report.wrong.empty()) fmt::print("WRONG {}\n", report.wrong);
  fmt::print(
      "tpcc-crash: {} kills and {} power losses on {} stores, {} checks of all conditions; {} "
      "New-Orders acknowledged, {} look-ups of them; seed {}, {:.1f} s\n",
      report.kills, report.power_losses, report.stores, report.checks, report.new_orders,
      report.present, seed, seconds);
  fmt::print(
      "counts: tpcc-crash kills={} power_losses={} stores={} checks={} new_orders={} present={} "
      "mistakes={} seconds={:.0f}\n",
      report.kills, report.power_losses, report.stores, report.checks, report.new_orders,
      report.present, report.wrong.empty() ? 0 : 1, seconds);
}

}  // namespace

int RunTpccCrashCampaign(const std::vector<std::string>& arguments) {
  CLI::App app("Crashes under TPC-C-lite: all conditions, and the clients' lists of successes");
  TpccCrashOptions options;
  std::string parent;
  AddFlags(app, options, parent);
  if (const std::optional<int> over = ParseCampaignFlags(app, arguments)) return *over;
  const std::unique_ptr<CampaignDirectory> directory = MakeDirectoryOrSay(parent);
  if (directory == nullptr) return 2;
  options.directory = directory->path();
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  TpccCrashReport report;
  KillTpcc(runtime, options, &report);
  if (!report.wrong.empty()) {
    directory->Keep();
  } else {
    CutPowerUnderTpcc(options, &report);
  }
  PrintReport(report, options.seed, static_cast<double>(runtime.Now() - start) / kNanosPerSecond);
  return report.wrong.empty() ? 0 : 1;
}

}  // namespace latchkey
