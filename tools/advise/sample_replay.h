// Replays a sample of a workload through the layout laboratory, once for Overwrite and once for each
// way that is asked about, and predicts the very same runs.
//
// The sample is small, so its segments are small as well: it has at least kSampleSegments of them.
// Its file is as full as the file for which the advice is. The prediction that stands beside a
// measurement is that of the sample, so that the two differ only by the model's errors.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "tools/advise/advice.h"
#include "tools/layout_lab/lab_run.h"

namespace latchkey {

struct ReplayPlan {
  DeviceSpec device;  ///< simulated
  LabWorkloadChoice workload = LabWorkloads().Named("uniform");
  const PageTrace* trace = nullptr;  ///< the sample of a workload that needs one
  uint64_t pages = 8192;             ///< of the sample; at least kFewestLabPages
  double reads_per_write = 0;
  uint32_t users = 20;
  bool journal = false;
  uint64_t seed = 42;
  const std::atomic<bool>* stop = nullptr;
};

struct Replay {
  Candidate candidate;            ///< as advised about, with the prediction for the whole
  double predicted = 0;           ///< user requests per time over those of Overwrite, of the sample
  double measured = 0;            ///< the same
  double sample_utilization = 0;  ///< u_d of the model, of the sample
  std::string not_steady;         ///< why the measured part does not begin in steady state

  /// Whether the two differ by more than kMarked.
  static constexpr double kMarked = 0.2;
  bool differs() const;
};

inline constexpr uint64_t kSampleSegments = 256;

/// Bytes of a segment of the sample.
uint64_t SampleSegment(const ReplayPlan& plan, const Candidate& candidate);
/// The configuration of a run of the sample.
LabConfig SampleConfig(const ReplayPlan& plan, const Candidate& candidate);
/// One run for each of `candidates`, all of one page size, the first of which is Overwrite. Cancelled: `stop` became true.
/// Other errors: those of the laboratory. `show` gets progress.
absl::StatusOr<std::vector<Replay>> ReplaySamples(const ReplayPlan& plan,
                                                  const AdviceQuestion& question,
                                                  const std::vector<Candidate>& candidates,
                                                  absl::FunctionRef<void(const std::string&)> show);

/// Of `replays`, of which the first is Overwrite, the simplest within kTie of the fastest measured
/// one. `replays` has one or more.
size_t BestMeasured(const std::vector<Replay>& replays);

}  // namespace latchkey
