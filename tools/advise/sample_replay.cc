#include "tools/advise/sample_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "layout/geometry.h"
#include "layout/space/space_sizing.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// User writes per page of the sample.
constexpr double kWarmUp = 12, kMeasured = 2;
constexpr uint64_t kSampleReserve = 0;  // bytes: the least that the store takes

}  // namespace

uint64_t SampleSegment(const ReplayPlan& plan, const Candidate& candidate) {
  const DevicePages& pages = candidate.pages;
  const uint64_t wanted =
      std::bit_floor(std::max<uint64_t>(1, plan.pages * pages.page_bytes / kSampleSegments));
  const uint64_t least = std::max<uint64_t>(kMinSegmentSize, kMinSlots * pages.page_bytes);
  return std::clamp<uint64_t>(wanted, least, std::max(least, pages.segment_bytes));
}

namespace {

double SampleUtilization(const ReplayPlan& plan, const Candidate& candidate, double of_flag) {
  return ModelUtilization(plan.pages, candidate.pages.page_bytes, SampleSegment(plan, candidate),
                          of_flag, kSampleReserve);
}

// The flag with which the sample's file is as full as that of `candidate`.
double SampleFlag(const ReplayPlan& plan, const Candidate& candidate) {
  double best = kMinSpaceUtilization, least = 1;
  for (double flag = kMinSpaceUtilization; flag <= kMaxSpaceUtilization + 1e-9; flag += 0.005) {
    const double off =
        std::abs(SampleUtilization(plan, candidate, flag) - candidate.model_utilization);
    if (off < least) {
      least = off;
      best = std::min(flag, kMaxSpaceUtilization);
    }
  }
  return best;
}

double Throughput(const LabResult& result) {
  const uint64_t done =
      result.end.reads + result.end.writes - result.begin.reads - result.begin.writes;
  const Nanos time = result.end.time - result.begin.time;
  return time == 0 ? 0 : static_cast<double>(done) / static_cast<double>(time);
}

}  // namespace

bool Replay::differs() const {
  return measured > 0 && std::abs(predicted / measured - 1) > kMarked;
}

LabConfig SampleConfig(const ReplayPlan& plan, const Candidate& candidate) {
  LabConfig config;
  config.device = plan.device;
  config.path = "advise";
  SegmentStoreOptions& store = config.store;
  store.mode = SegmentStoreOptions::Mode::kCreate;
  store.layout = Layouts().Named(candidate.way->layout);
  if (!candidate.way->cleaning.empty()) {
    store.segment_cleaning = CleaningPolicies().Named(candidate.way->cleaning);
  }
  store.space_utilization = SampleFlag(plan, candidate);
  store.page_size = candidate.pages.page_bytes;
  store.segment_size = static_cast<uint32_t>(SampleSegment(plan, candidate));
  store.reserve_bytes = kSampleReserve;
  store.seed = plan.seed;
  store.database_id = plan.seed | 1;  // not of the clock: equal seeds give equal runs
  config.journal = plan.journal;
  config.pages = plan.pages;
  config.workload = plan.workload;
  config.trace = plan.trace;
  config.reads_per_write = plan.reads_per_write;
  config.users = plan.users;
  config.budget = kWarmUp;
  config.measured = kMeasured;
  config.stop = plan.stop;
  return config;
}

absl::StatusOr<std::vector<Replay>> ReplaySamples(
    const ReplayPlan& plan, const AdviceQuestion& question,
    const std::vector<Candidate>& candidates, absl::FunctionRef<void(const std::string&)> show) {
  std::vector<Replay> replays;
  double overwrite = 0;
  const Candidate& first = candidates.front();
  LATCHKEY_ASSIGN_OR_RETURN(
      const DevicePages costs,
      UnderLoad(plan.device, WithSegments(first.pages, SampleSegment(plan, first)),
                {.span_bytes = plan.pages * first.pages.page_bytes,
                 .users = plan.users,
                 .reads_per_write = plan.reads_per_write,
                 .seed = plan.seed}));
  for (const Candidate& candidate : candidates) {
    const LabConfig config = SampleConfig(plan, candidate);
    const std::string label =
        fmt::format("replays {} {}", candidate.way->layout, candidate.way->cleaning);
    LATCHKEY_ASSIGN_OR_RETURN(
        const LabResult result,
        RunLayoutLab(config, [&](const std::string& what) { show(label + ": " + what); }));
    if (result.interrupted) return MakeStatus(absl::StatusCode::kCancelled, "interrupted");
    if (replays.empty()) overwrite = Throughput(result);
    Replay replay;
    replay.candidate = candidate;
    replay.sample_utilization = SampleUtilization(plan, candidate, config.store.space_utilization);
    replay.predicted =
        PredictWay(question, *candidate.way, costs, replay.sample_utilization).relative;
    replay.measured = overwrite > 0 ? Throughput(result) / overwrite : 0;
    replay.not_steady = result.not_steady;
    replays.push_back(std::move(replay));
  }
  return replays;
}

size_t BestMeasured(const std::vector<Replay>& replays) {
  double most = 0;
  for (const Replay& replay : replays) most = std::max(most, replay.measured);
  std::optional<size_t> best;
  for (size_t i = 0; i < replays.size(); ++i) {
    if (replays[i].measured * (1 + kTie) < most) continue;
    // The addresses of the ways are in the order of their simplicity.
    if (!best || replays[i].candidate.way < replays[*best].candidate.way) best = i;
  }
  return *best;
}

}  // namespace latchkey
