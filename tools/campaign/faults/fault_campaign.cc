#include "tools/campaign/faults/fault_campaign.h"

#include <fmt/format.h>

#include <utility>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/device/faulty/crash_replay.h"

namespace latchkey {
namespace {

// Far more than any life needs. A life that takes more hangs: its actors wait for each other.
constexpr uint64_t kMostHandOvers = 2'000'000;

class Campaign {
 public:
  explicit Campaign(const FaultCampaignOptions& options) : options_(options) {}

  FaultReport Run() {
    for (uint64_t i = 0; i < options_.seeds; ++i) {
      for (const std::string& layout : options_.layouts) {
        for (const Durability durability : options_.durabilities) {
          if (!done()) RunSetting({layout, durability, options_.first_seed + i});
        }
      }
    }
    return std::move(report_);
  }

 private:
  bool done() const { return report_.failures.size() >= options_.max_failures; }

  void RunSetting(const FaultSetting& setting) {
    at_ = {.setting = setting, .source = {}, .phase = {}, .point = {}, .what = {}};
    const absl::StatusOr<FaultBeginnings> made = MakeFaultBeginnings(setting);
    if (!made.ok()) return Fail("without faults: " + made.status().ToString());
    for (const FaultPhase phase : options_.phases) {
      if (made->Of(phase).images.empty()) continue;  // the setting has no such initial state
      for (const std::unique_ptr<FaultSource>& source : options_.sources) {
        for (const bool from_then_on : {false, true}) {
          if (options_.only_from_then_on.value_or(from_then_on) != from_then_on) continue;
          at_.phase = phase;
          at_.source = source->name();
          Sweep(made->Of(phase), *source, from_then_on);
        }
      }
    }
  }

  // Runs a life for every call, or for a seeded choice of the calls.
  void Sweep(const FaultBeginning& beginning, FaultSource& source, bool from_then_on) {
    if (options_.only_call) {
      Live(beginning, source, {.call = *options_.only_call, .from_then_on = from_then_on});
      return;
    }
    const uint64_t calls = Live(beginning, source, {.call = FaultPoint::kNever});
    uint64_t stride = 1;
    if (options_.max_calls > 0 && calls > options_.max_calls) {
      stride = (calls + options_.max_calls - 1) / options_.max_calls;
    }
    Rng rng(MixHash(at_.setting.seed + MixHash(static_cast<uint64_t>(at_.phase))));
    for (uint64_t call = rng.Below(stride); !done(); call += stride) {
      const uint64_t before = report_.injected;
      Live(beginning, source, {.call = call, .from_then_on = from_then_on});
      if (report_.injected == before) return;  // no call failed
    }
  }

  // Returns the number of calls that could have failed.
  uint64_t Live(const FaultBeginning& beginning, FaultSource& source, FaultPoint point) {
    point.seed = MixHash(at_.setting.seed * 4096 + point.call);
    at_.point = point;
    CrashMachine machine(beginning.images, at_.setting.seed, /*record=*/true, /*simulated=*/true,
                         /*is_busy=*/at_.phase == FaultPhase::kUsers, kMostHandOvers);
    FaultOracle oracle(beginning.records);
    FaultOutcome outcome;
    const absl::Status ran = machine.RunInside([&] {
      outcome = RunFaultLife(at_.setting, at_.phase, source, point, machine, oracle);
      return absl::OkStatus();
    });
    source.Disarm(machine);
    if (!ran.ok()) {
      Fail("it does not end: " + ran.ToString());
      return 0;
    }
    for (std::string& mistake : outcome.mistakes) Fail(std::move(mistake));
    Count(outcome);
    if (outcome.created) {
      closed_ = outcome.closed;
      Reopen(Contents(*machine.disks), oracle, "reopened");
      if (outcome.injected > 0) LosePower(machine, oracle, point.seed);
    }
    return outcome.calls;
  }

  void Count(const FaultOutcome& outcome) {
    if (outcome.injected == 0) return;
    ++report_.runs;
    ++report_.runs_of[FaultPhaseName(at_.phase)];
    report_.injected += outcome.injected;
    report_.commits += outcome.commits;
    report_.refused += outcome.refused;
    report_.read_only += outcome.read_only;
    report_.sync_failed += outcome.sync_failed;
    report_.written_again += outcome.written_again;
    report_.read_back += outcome.read_back;
    report_.hash = MixHash(report_.hash ^ MixHash(outcome.calls * 64 + outcome.injected) ^
                           (outcome.commits << 32 ^ outcome.refused));
  }

  // Unsynced writes may be missing, and so may those whose sync has failed.
  void LosePower(const CrashMachine& machine, const FaultOracle& oracle, uint64_t seed) {
    CrashReplay replay(*machine.disks);
    replay.AdvanceTo(replay.end());
    if (replay.pending_changes() == 0) return;
    const bool all_lost = seed % 2 == 0;
    const CrashChoice choice{.variant = all_lost ? CrashVariant::kNone : CrashVariant::kSectors};
    ++report_.power_losses;
    Reopen(replay.Images(choice, seed), oracle, "after a power loss");
  }

  void Reopen(const std::vector<DiskImage>& images, const FaultOracle& oracle, const char* when) {
    CrashMachine machine(images, at_.setting.seed, /*record=*/false, /*simulated=*/true,
                         /*is_busy=*/false, kMostHandOvers);
    absl::StatusOr<FaultRecords> found = absl::UnknownError("it does not end");
    const absl::Status ran = machine.RunInside([&] {
      found = ReopenAfterFaults(at_.setting, machine);
      return absl::OkStatus();
    });
    ++report_.reopens;
    if (!ran.ok()) return Fail(fmt::format("{}: {}", when, ran.ToString()));
    const bool may_be_refused = at_.setting.durability == Durability::kNone && !closed_;
    if (may_be_refused && absl::IsFailedPrecondition(found.status())) return;
    if (!found.ok()) return Fail(fmt::format("{}: {}", when, found.status().ToString()));
    if (!oracle.AcceptsAtOpen(*found)) Fail(fmt::format("{}: {}", when, oracle.Explain(*found)));
  }

  static std::vector<DiskImage> Contents(const CrashRecorder& disks) {
    std::vector<DiskImage> images;
    for (uint32_t disk = 0; disk < disks.disks(); ++disk) images.push_back(disks.content(disk));
    return images;
  }

  void Fail(std::string what) {
    if (done()) return;
    FaultFailure failure = at_;
    failure.what = std::move(what);
    report_.failures.push_back(std::move(failure));
  }

  const FaultCampaignOptions& options_;
  FaultReport report_;
  FaultFailure at_;      // the current place of the campaign
  bool closed_ = false;  // whether the newest life has closed its database
};

}  // namespace

const char* FaultDurabilityName(Durability durability) {
  if (durability == Durability::kCommit) return "commit";
  return durability == Durability::kGroup ? "group" : "none";
}

std::string FaultFailure::Describe() const {
  std::string flags = fmt::format("--layout={} --durability={} --phase={} --fault={} --seeds={}",
                                  setting.layout, FaultDurabilityName(setting.durability),
                                  FaultPhaseName(phase), source, setting.seed);
  if (point.call != FaultPoint::kNever) {
    flags += fmt::format(" --call={} --mode={}", point.call,
                         point.from_then_on ? "from-then-on" : "once");
  }
  return fmt::format("{}: {}", flags, what);
}

FaultReport RunFaultCampaign(const FaultCampaignOptions& options) {
  return Campaign(options).Run();
}

}  // namespace latchkey
