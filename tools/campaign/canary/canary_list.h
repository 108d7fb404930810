// The seeded bugs of the engine by name, and the campaigns that must find them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// A seeded bug: LATCHKEY_CANARY(name) marks its places in the engine.
struct Canary {
  std::string_view name;
  std::string_view bug;  ///< the wrong behaviour while it is selected
  /// Name of the net to try first; the other nets follow in their order.
  std::string_view net;
};

/// A run of one campaign, small enough to be repeated for many canaries.
struct CanaryNet {
  std::string_view name;
  std::vector<std::string> arguments;  ///< of latchkey_campaign: its verb, then flags
  std::string_view unit;               ///< key of its line of counts: the cost of finding a bug
};

/// All canaries of the tree, in a fixed order.
std::span<const Canary> Canaries();
/// nullptr: no canary has this name.
const Canary* FindCanary(std::string_view name);

std::span<const CanaryNet> CanaryNets();

}  // namespace latchkey
