// The list of replacement algorithms. `--replacement=`, the pool, the trace simulator and the
// conformance tests all use it. To add an algorithm: its file beside this one and one line in
// replacement_list.cc.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/replacement_algorithm.h"
#include "storage/base/registry.h"

namespace latchkey {

/// One algorithm of the list.
struct ReplacementInfo {
  ChoiceDescription description;
  HitNeeds hit_needs;
  /// The fewest frames with which an instance works as published.
  uint32_t fewest_frames;
  /// Whether it reads the future of a trace (ReplacementConfig::trace). A pool cannot run it.
  bool needs_future;
  /// The parameter with which only a trace replay can run it, and what to ask for instead; "" if a
  /// pool can run it with `parameters`.
  std::string_view (*simulator_only)(std::span<const double> parameters);
  /// Bytes that an instance takes for each frame, beside the pool's reference byte.
  size_t (*bytes_per_frame)(std::span<const double> parameters);
  std::unique_ptr<ReplacementAlgorithm> (*make)(const ReplacementConfig& config,
                                                std::span<const double> parameters);
};

/// The list of replacement algorithms. `Parse` returns a choice such as `2q:kin=0.25:kout=0.5`,
/// which can make any number of instances. REQUIRES for Make: config.reference_bytes is set and has
/// one byte for every frame id below first_frame + the largest capacity passed to Resize.
const Registry<ReplacementInfo>& ReplacementAlgorithms();
using ReplacementChoice = Choice<ReplacementInfo>;

/// The names of the algorithms that a pool can run, in the order of the list. Help texts, campaigns
/// and the pool's tests draw from them.
std::vector<std::string> PoolReplacementNames();
/// InvalidArgument if only a trace replay can run `replacement`. The message says why and names a
/// choice that a pool can run.
absl::Status CheckRunsInPool(const ReplacementChoice& replacement);

}  // namespace latchkey
