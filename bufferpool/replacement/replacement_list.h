// The list of replacement algorithms: what `--replacement=` accepts, what the pool and the trace
// simulator make instances of, and what the conformance tests run. To add one: its file beside this
// one and one line in replacement_list.cc.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bufferpool/policy_spec.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

/// One algorithm of the list.
struct ReplacementInfo {
  PolicyDescription description;
  std::unique_ptr<ReplacementAlgorithm> (*make)(const ReplacementConfig& config,
                                                std::span<const double> parameters);
};

/// All of them, in the order in which help texts and error messages name them.
std::span<const ReplacementInfo> ReplacementAlgorithms();

/// A parsed item such as `2q:kin=0.25:kout=0.5`: makes any number of instances.
class ReplacementChoice {
 public:
  /// InvalidArgument for unknown names, parameters and values (see ParsePolicy).
  static absl::StatusOr<ReplacementChoice> Parse(std::string_view item);

  /// REQUIRES: config.reference_bytes set, one byte for every frame id below
  /// first_frame + the largest capacity that Resize will ever name.
  std::unique_ptr<ReplacementAlgorithm> Make(const ReplacementConfig& config) const {
    return info_->make(config, values_);
  }
  /// The item with every parameter spelled out.
  std::string ToString() const { return FormatPolicy(info_->description, values_); }
  std::string_view name() const { return info_->description.name; }

 private:
  ReplacementChoice(const ReplacementInfo* info, std::vector<double> values)
      : info_(info), values_(std::move(values)) {}

  const ReplacementInfo* info_;
  std::vector<double> values_;
};

}  // namespace latchkey
