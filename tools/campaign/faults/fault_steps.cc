#include "tools/campaign/faults/fault_steps.h"

#include <fmt/format.h>

namespace latchkey {
namespace {

constexpr uint32_t kKeys = 160;

std::string KeyOf(uint64_t number) { return fmt::format("key{:05}", number * 7919 % 100'000); }

FaultStep SomeDelete(Rng& rng) {
  return {.kind = FaultStep::Kind::kDelete,
          .tree = kFaultKept,
          .key = KeyOf(rng.Below(kKeys)),
          .value = {}};
}

}  // namespace

std::string SomeFaultValue(Rng& rng, size_t least, size_t most) {
  return fmt::format("{:x}.", rng.Next()) +
         std::string(least + rng.Below(most - least + 1), static_cast<char>('a' + rng.Below(26)));
}

FaultStep SomeFaultPut(Rng& rng, const std::string& tree) {
  const bool is_long = rng.Below(20) == 0;
  return {.kind = FaultStep::Kind::kPut,
          .tree = tree,
          .key = KeyOf(rng.Below(kKeys)),
          .value = is_long ? SomeFaultValue(rng, 5'000, 9'000) : SomeFaultValue(rng, 8, 500)};
}

std::vector<FaultStep> SomeFaultSteps(Rng& rng) {
  std::vector<FaultStep> steps;
  for (uint64_t left = 1 + rng.Below(4); left > 0; --left) {
    const uint64_t choice = rng.Below(6);
    steps.push_back(choice == 0   ? SomeDelete(rng)
                    : choice == 1 ? SomeFaultPut(rng, kFaultDropped)
                                  : SomeFaultPut(rng));
  }
  return steps;
}

}  // namespace latchkey
