#include "tools/doctor/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "layout/separate/write_cost_model.h"

namespace latchkey {
namespace {

using Kind = SyncVerdict::Kind;

constexpr std::string_view kCertain = "certain", kLikely = "likely", kNotTold = "cannot be told";

// A disk that turns 15,000 times a minute needs 2 ms for half a turn, on average.
constexpr double kRotatingLeastUs = 1000;
// A flush is at least one command, as a page write is. Far below it no command can have been sent.
constexpr double kImplausibleShare = 0.3;
// More than this is gained in throughput by a deeper queue: then the depth is worth it.
constexpr double kWorthwhile = 1.1;
constexpr double kDefaultUtilization = 0.8;
constexpr double kSlowSyncUs = 2000;
constexpr uint32_t kMostGroupDelayMs = 10'000;

bool IsOfMemory(const MountFacts& mount) {
  return mount.file_system == "tmpfs" || mount.file_system == "ramfs";
}

bool HasNoBarriers(const MountFacts& mount) {
  return mount.has("nobarrier") || mount.has("barrier=0");
}

/// The depth behind which a deeper one gains little.
const Timing& Saturation(const std::vector<Timing>& timings) {
  const Timing* best = &timings.front();
  for (const Timing& timing : timings) {
    if (timing.per_second > kWorthwhile * best->per_second) best = &timing;
  }
  return *best;
}

std::string Micros(double us) {
  return us >= 1000 ? fmt::format("{:.2f} ms", us / 1000) : fmt::format("{:.0f} us", us);
}

SyncVerdict JudgeFast(const DeviceFacts& facts, double sync_us, double write_us) {
  if (facts.queue.has_volatile_cache.has_value() && !*facts.queue.has_volatile_cache) {
    return {Kind::kUnknown, kNotTold,
            fmt::format("the device says that it has no volatile cache, so a sync ({}) sends it "
                        "nothing. Whether that is true only a loss of power proves; of a virtual "
                        "disk the host decides",
                        Micros(sync_us))};
  }
  if (facts.queue.has_volatile_cache.value_or(false)) {
    return {Kind::kVolatile, kLikely,
            fmt::format("the device has a volatile cache, but a sync takes {}, less than the {} of "
                        "a single page write: no flush can have reached it. Safe only if its cache "
                        "has a battery or capacitors",
                        Micros(sync_us), Micros(write_us))};
  }
  return {Kind::kUnknown, kNotTold,
          fmt::format("a sync takes {}, a page write {}: so the sync sends the device nothing. The "
                      "kernel does not tell whether it has a volatile cache",
                      Micros(sync_us), Micros(write_us))};
}

void AdviseDurability(const Diagnosis& so_far, const DeviceFigures& figures,
                      std::vector<AdvisedSetting>* settings) {
  const Timing& sync = figures.sync_after_write;
  const double commits = 1e6 / std::max(1.0, sync.p50_us);
  if (so_far.sync.kind == Kind::kVolatile) {
    settings->push_back({"durability", "commit",
                         "but no setting makes commits survive a loss of power here: see above"});
    return;
  }
  if (sync.p50_us < kSlowSyncUs) {
    settings->push_back({"durability", "commit",
                         fmt::format("a sync takes {}: about {:.0f} durable commits/s of one user, "
                                     "and commits that wait together share it",
                                     Micros(sync.p50_us), commits)});
    return;
  }
  settings->push_back(
      {"durability", "commit, or group if the last commits may be lost",
       fmt::format("a sync takes {}: one user gets about {:.0f} durable commits/s. With group a "
                   "commit returns at once",
                   Micros(sync.p50_us), commits)});
  // Half of the delay gathers commits, the other half is for the flush.
  const double delay_ms = std::ceil(2 * sync.p99_us / 1000);
  settings->push_back(
      {"group-commit-delay-ms",
       fmt::format("{:.0f}", std::clamp<double>(delay_ms, 10, kMostGroupDelayMs)),
       fmt::format("with durability group: half of it is for the flush, of which one in a hundred "
                   "takes {}",
                   Micros(sync.p99_us))});
}

void AdviseLayout(const DeviceFigures& figures, std::vector<AdvisedSetting>* settings) {
  const double eta = figures.probe.costs.eta();
  if (CrossingUtilization(std::max(1.0, eta)) > kDefaultUtilization) {
    settings->push_back(
        {"layout", "hylog",
         fmt::format("a page written as part of a segment costs {:.1f} times less than one written "
                     "alone: appending pays up to a cleaning utilisation of {:.2f}",
                     eta, CrossingUtilization(eta))});
  } else {
    settings->push_back(
        {"layout", "overwrite",
         fmt::format("a page written as part of a segment costs {:.1f} times less than one written "
                     "alone: cleaning segments would cost more than that gains",
                     eta)});
  }
  settings->push_back({"segment-size", "auto",
                       fmt::format("a new database measures it; now it would choose {} KiB",
                                   figures.probe.segment_bytes >> 10)});
}

void AdviseProtection(const DeviceFacts& facts, const DeviceFigures& figures,
                      std::vector<AdvisedSetting>* settings) {
  const uint64_t atomic = facts.queue.atomic_write_bytes.value_or(0);
  if (atomic >= kExaminedPage) {
    settings->push_back(
        {"torn-write-protection", "none",
         fmt::format("the kernel says that the device writes {} bytes wholly or not "
                     "at all: true of pages up to that size",
                     atomic)});
    return;
  }
  const PageCosts& costs = figures.probe.costs;
  settings->push_back(
      {"torn-write-protection", "doublewrite",
       fmt::format(
           "the device does not promise whole pages. The copy adds {} to a page write of {}",
           Micros(costs.protection_ns / 1000), Micros(costs.page_write_ns / 1000))});
}

void NoteDepths(const DeviceFigures& figures, std::vector<Finding>* findings) {
  const Timing& reads = Saturation(figures.page_reads);
  const Timing& alone = figures.page_reads.front();
  if (reads.depth == 1) {
    findings->push_back({Severity::kNote, "reads gain nothing from a deeper queue"});
  } else {
    findings->push_back(
        {Severity::kGood,
         fmt::format(
             "{} page reads in flight are {:.1f} times as fast as one after the other: read "
             "many keys with MultiGet or Prefetch, or with as many threads",
             reads.depth, reads.per_second / std::max(1.0, alone.per_second))});
  }
}

void AdviseCleaner(const DeviceFigures& figures, std::vector<AdvisedSetting>* settings) {
  const Timing& writes = Saturation(figures.page_writes);
  settings->push_back({"cleaner", "self-tuning",
                       fmt::format("page writes reach {:.0f}/s with {} in flight, which the "
                                   "controller finds by itself",
                                   writes.per_second, writes.depth)});
}

}  // namespace

SyncVerdict JudgeSync(const DeviceFacts& facts, const DeviceFigures& figures) {
  if (IsOfMemory(facts.mount)) {
    return {Kind::kVolatile, kCertain,
            facts.mount.file_system + " keeps files in memory: a reboot loses everything"};
  }
  if (HasNoBarriers(facts.mount)) {
    return {Kind::kVolatile, kCertain,
            "the file system is mounted without barriers (nobarrier): a sync does not flush the "
            "device's cache. Mount it with barriers"};
  }
  const double sync_us = figures.sync_after_write.p50_us;
  const double write_us = figures.page_writes.front().p50_us;
  const double read_us = figures.page_reads.front().p50_us;
  // A virtual disk often claims to rotate. Its reads are too fast for that.
  const bool rotates = facts.queue.rotational.value_or(false) && read_us > kRotatingLeastUs;
  if (rotates && sync_us < kRotatingLeastUs) {
    return {
        Kind::kVolatile, kLikely,
        fmt::format("a sync takes {}, but a disk that rotates (its reads take {}) needs some ms "
                    "to write: the sync is answered out of a cache. Safe only if that has a "
                    "battery",
                    Micros(sync_us), Micros(read_us))};
  }
  if (!facts.direct_io) {
    return {Kind::kUnknown, kNotTold,
            fmt::format("a sync takes {}. Writes go through the page cache, so there is nothing to "
                        "compare it with",
                        Micros(sync_us))};
  }
  if (sync_us < kImplausibleShare * write_us) return JudgeFast(facts, sync_us, write_us);
  return {Kind::kDurable, kLikely,
          fmt::format("a sync takes {}, a page write {}: the device has time to flush. Only a loss "
                      "of power proves it",
                      Micros(sync_us), Micros(write_us))};
}

Diagnosis Diagnose(const DeviceFacts& facts, const DeviceFigures& figures) {
  Diagnosis diagnosis;
  diagnosis.sync = JudgeSync(facts, figures);
  if (facts.direct_io) {
    diagnosis.findings.push_back({Severity::kGood, "O_DIRECT works: no page is cached twice"});
  } else {
    diagnosis.findings.push_back(
        {Severity::kWarning,
         fmt::format(
             "O_DIRECT is refused by the file system ({}): pages are cached twice, and the "
             "figures below are those of the page cache. Put the database on ext4 or XFS",
             facts.mount.file_system.empty() ? "of unknown type" : facts.mount.file_system)});
  }
  NoteDepths(figures, &diagnosis.findings);
  AdviseDurability(diagnosis, figures, &diagnosis.settings);
  AdviseProtection(facts, figures, &diagnosis.settings);
  AdviseLayout(figures, &diagnosis.settings);
  AdviseCleaner(figures, &diagnosis.settings);
  return diagnosis;
}

}  // namespace latchkey
