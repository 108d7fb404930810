#include "tools/campaign/faults/fault_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "layout/geometry.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/device/faulty/crash_replay.h"
#include "tools/campaign/crash/crash_monitor.h"

namespace latchkey {
namespace {

// Far more than any life needs. A life that takes more hangs: its actors wait for each other.
constexpr uint64_t kMostHandOvers = 2'000'000;
constexpr uint64_t kNeverClosed = UINT64_MAX;

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
    FaultHistory history(beginning.records);
    FaultOutcome outcome;
    const absl::Status ran = machine.RunInside([&] {
      outcome = RunFaultLife(at_.setting, at_.phase, source, point, machine, history);
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
      Reopen(Contents(*machine.disks), history.now(), outcome.closed_at != kNeverClosed,
             "reopened");
      if (outcome.injected > 0) LosePowers(machine, history, outcome);
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

  // After the life, and at random events behind its first fault. Unsynced writes may be missing,
  // and so may those whose sync has failed.
  void LosePowers(const CrashMachine& machine, const FaultHistory& history,
                  const FaultOutcome& outcome) {
    Rng rng(at_.point.seed);
    CrashReplay replay(*machine.disks);
    const uint64_t first = std::max(
        {outcome.calm_until, outcome.created_at, machine.disks->first_fault_at().value_or(0)});
    for (const uint64_t position : LossesIn(first, replay.end(), rng)) {
      replay.AdvanceTo(position);
      ++report_.power_losses_in_life;
      LosePower(replay, rng, history.At(position), outcome.closed_at <= position);
    }
    replay.AdvanceTo(replay.end());
    const bool stays_bad = HasBadPlaces(machine);
    if (replay.pending_changes() == 0 && !stays_bad) return;
    ++report_.power_losses;
    const std::vector<DiskImage> images = replay.SomeImages(rng);
    const std::optional<FaultRecords> found = Reopen(
        images, history.now(), outcome.closed_at != kNeverClosed, "after a power loss at its end");
    if (found && stays_bad) LiveOn(machine, images, *found);
  }

  static bool HasBadPlaces(const CrashMachine& machine) {
    for (uint32_t disk = 0; disk < machine.disks->disks(); ++disk) {
      if (!machine.disks->bad_places(disk).empty()) return true;
    }
    return false;
  }

  // Whether the store can write everything elsewhere: LFS and WOLF append every page, and only what
  // lies before the segments has one place.
  bool NeedsNoBadPlace(const CrashMachine& machine) const {
    const std::vector<BadPlace> places = machine.disks->bad_places(DatabaseOnDisks::kData);
    const bool appends =
        at_.setting.layout.starts_with("lfs") || at_.setting.layout.starts_with("wolf");
    return appends && places.size() == 1 && places.front().offset >= kHeaderAreaBytes;
  }

  // Another life on disks whose bad places have stayed bad. The database that knew them is gone.
  // Whatever becomes of that life, a copy on sound disks has everything.
  void LiveOn(const CrashMachine& before, const std::vector<DiskImage>& images,
              const FaultRecords& records) {
    CrashMachine machine(images, at_.setting.seed, /*record=*/true, /*simulated=*/true,
                         /*is_busy=*/false, kMostHandOvers);
    for (uint32_t disk = 0; disk < machine.disks->disks(); ++disk) {
      machine.disks->SetBadPlaces(disk, before.disks->bad_places(disk));
    }
    const std::unique_ptr<FaultSource> source = BadPlacesThatStay();
    FaultHistory history(records);
    FaultOutcome outcome;
    const absl::Status ran = machine.RunInside([&] {
      outcome = RunFaultLife(at_.setting, FaultPhase::kCleaning, *source, {}, machine, history);
      return absl::OkStatus();
    });
    if (!ran.ok()) return Fail("on its bad places it does not end: " + ran.ToString());
    for (const std::string& mistake : outcome.mistakes) Fail("on its bad places: " + mistake);
    ++report_.lived_on;
    const bool is_writable = outcome.opened && !outcome.read_only;
    report_.writable += is_writable;
    if (!is_writable && NeedsNoBadPlace(machine)) Fail("on its bad place it is read-only");
    report_.hash = MixHash(report_.hash ^ (outcome.commits << 32 ^ outcome.refused));
    Reopen(Contents(*machine.disks), history.now(), outcome.closed_at != kNeverClosed,
           "after another life on its bad places");
  }

  // Ascending. Every second one is at most 32 events behind the first fault.
  std::vector<uint64_t> LossesIn(uint64_t first, uint64_t end, Rng& rng) const {
    constexpr uint64_t kSoon = 32;
    std::vector<uint64_t> positions;
    for (uint32_t i = 0; i < options_.power_losses && first < end; ++i) {
      const uint64_t left = end - first;
      const bool is_soon = (i + at_.point.call) % 2 == 0;
      positions.push_back(first + rng.Below(is_soon ? std::min(left, kSoon) : left));
    }
    std::ranges::sort(positions);
    return positions;
  }

  void LosePower(const CrashReplay& replay, Rng& rng, const FaultOracle& oracle, bool is_closed) {
    Reopen(replay.SomeImages(rng), oracle, is_closed,
           fmt::format("after a power loss at event {} of {}", replay.position(), replay.end()));
  }

  // On sound disks. `is_closed`: it must open even without a log. Returns what it holds.
  std::optional<FaultRecords> Reopen(const std::vector<DiskImage>& images,
                                     const FaultOracle& oracle, bool is_closed,
                                     const std::string& when) {
    CrashMachine machine(images, at_.setting.seed, /*record=*/false, /*simulated=*/true,
                         /*is_busy=*/false, kMostHandOvers);
    absl::StatusOr<FaultRecords> found = absl::UnknownError("it does not end");
    const absl::Status ran = machine.RunInside([&] {
      found = ReopenAfterFaults(at_.setting, machine);
      return absl::OkStatus();
    });
    ++report_.reopens;
    const bool may_be_refused = at_.setting.durability == Durability::kNone && !is_closed;
    if (!ran.ok()) {
      Fail(fmt::format("{}: {}", when, ran.ToString()));
    } else if (found.ok() && !oracle.AcceptsAtOpen(*found)) {
      Fail(fmt::format("{}: {}", when, oracle.Explain(*found)));
    } else if (!found.ok() && !(may_be_refused && absl::IsFailedPrecondition(found.status()))) {
      Fail(fmt::format("{}: {}", when, found.status().ToString()));
    }
    if (!found.ok()) return std::nullopt;
    return *std::move(found);
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
  FaultFailure at_;  // the current place of the campaign
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
