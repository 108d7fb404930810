#include "tools/cli/policy_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bufferpool/fix_choices.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// The value of --policy without a policy.
constexpr std::string_view kNoPolicy = "none";

bool IsPart(const std::string& flag) { return flag == "replacement" || flag == "synchronization"; }

}  // namespace

std::vector<FlagSpec> PolicyFlags(const std::string& replacement,
                                  const std::string& synchronization) {
  return {
      {"policy", std::string(kNoPolicy),
       "replacement algorithm and synchronization scheme of a paper's system: " + KnownPolicies()},
      {"replacement", replacement, fmt::format("{}", fmt::join(PoolReplacementNames(), ", "))},
      {"synchronization", synchronization,
       fmt::format("{}", fmt::join(SynchronizationSchemes().Names(), ", "))}};
}

FlagSpec FixFlag() {
  return {"fix", "optimistic",
          "of pages that are only read: optimistic: their versions are compared; latched: their "
          "shared latches are held, the pin and unpin of the papers"};
}

FlagSpec PageInFlag() {
  return {"page-in", "blocking",
          "of a page that several users ask for: blocking: one reads it, the others wait; "
          "optimistic: all read it, and the first one publishes it"};
}

absl::Status CheckPolicyStandsAlone(const FlagTexts& given) {
  const auto policy = given.find("policy");
  if (policy == given.end() || policy->second == kNoPolicy) return absl::OkStatus();
  for (const auto& [flag, text] : given) {
    if (!IsPart(flag)) continue;
    return InvalidArgument(
        "--policy={} and --{}={}: a policy has its own replacement algorithm and synchronization "
        "scheme; give either the policy or its parts",
        policy->second, flag, text);
  }
  return absl::OkStatus();
}

bool LacksPolicyFlag(const Combination& so_far, const std::string& flag, const std::string& value) {
  if (flag == "policy") return value == kNoPolicy;
  return IsPart(flag) && so_far.Has("policy");
}

absl::StatusOr<PolicyItems> PolicyOf(const Combination& combination) {
  if (combination.Has("policy")) return ParsePolicy(combination.Get("policy"));
  return PolicyItems{.replacement = combination.Get("replacement"),
                     .synchronization = combination.Get("synchronization")};
}

}  // namespace latchkey
