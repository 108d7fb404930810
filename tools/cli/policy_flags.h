// The flags of the buffer pool's policy: --policy names a system of a paper, --replacement and
// --synchronization name its two parts. Either the policy or the parts are given.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "bufferpool/policy_presets.h"
#include "tools/cli/flags.h"
#include "tools/cli/sweep.h"

namespace latchkey {

/// The three flags, with these defaults of the parts.
std::vector<FlagSpec> PolicyFlags(const std::string& replacement,
                                  const std::string& synchronization);
/// --fix: how pages that are only read are fixed.
FlagSpec FixFlag();
/// --page-in: how pages are read from the device.
FlagSpec PageInFlag();
/// InvalidArgument if a policy is given together with one of its parts.
absl::Status CheckPolicyStandsAlone(const FlagTexts& given);
/// Whether the combination lacks this flag: a policy of "none", or a part beside a policy.
bool LacksPolicyFlag(const Combination& so_far, const std::string& flag, const std::string& value);
/// The two parts of the combination's policy. InvalidArgument: an unknown policy. The parts are not
/// parsed.
absl::StatusOr<PolicyItems> PolicyOf(const Combination& combination);

}  // namespace latchkey
