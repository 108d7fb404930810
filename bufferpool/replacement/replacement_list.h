// The list of replacement algorithms. `--replacement=`, the pool, the trace simulator and the
// conformance tests all use it. To add an algorithm: its file beside this one and one line in
// replacement_list.cc.
#pragma once

#include <memory>
#include <span>

#include "bufferpool/replacement_algorithm.h"
#include "storage/base/registry.h"

namespace latchkey {

/// One algorithm of the list.
struct ReplacementInfo {
  ChoiceDescription description;
  HitNeeds hit_needs;
  /// The fewest frames with which an instance works as published.
  uint32_t fewest_frames;
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

}  // namespace latchkey
