#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/technique_items.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"

namespace latchkey {
namespace {

void AddFlags(CampaignFlags& command, TpccCrashOptions& options, std::string& parent) {
  command.Add("--kills", options.kills, "Processes killed").ShowDefault();
  command.Add("--power-losses", options.power_losses, "On simulated disks").ShowDefault();
  command.Add("--crashes-per-store", options.crashes_per_store, "Then comes the next store")
      .Range(1, 1'000'000)
      .ShowDefault();
  command.Add("--db", parent, "Directory for the stores; else $TMPDIR, else the working one");
  command.Add("--seed", options.seed, "Of all choices but those of time").ShowDefault();
  command.Add("--users", options.users, "At a time").Range(1u, 100u).ShowDefault();
  command.Add("--scale", options.scale, "Of the warehouse").Range(0.001, 1.0).ShowDefault();
  command.Add("--layout", options.layouts, "Layouts, one store after the other")
      .SeparatedByCommas()
      .OneOf(LayoutItems());
}

void PrintReport(const TpccCrashReport& report, uint64_t seed, double seconds) {
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
  CampaignFlags command(
      "Crashes under TPC-C-lite: all conditions, and the clients' lists of successes");
  TpccCrashOptions options;
  std::string parent;
  AddFlags(command, options, parent);
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  TpccCrashReport report;
  return RunInDirectory(
      parent,
      [&](const std::string& path) {
        options.directory = path;
        KillTpcc(ThreadRuntime(), options, &report);
        if (report.wrong.empty()) CutPowerUnderTpcc(options, &report);
        return report.wrong;
      },
      [&](double seconds) { PrintReport(report, options.seed, seconds); });
}

}  // namespace latchkey
