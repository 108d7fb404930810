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
  std::string_view bug;  ///< what is wrong while it is selected
  /// The name of the net that is tried first; the others follow in their order.
  std::string_view net;
};

/// A run of one campaign, small enough to be tried on many canaries.
struct CanaryNet {
  std::string_view name;
  std::vector<std::string> arguments;  ///< of latchkey_campaign: its verb, then flags
  std::string_view unit;               ///< key of its line of counts: what it took to find a bug
};

/// All canaries of the tree; an order that stays the same.
std::span<const Canary> Canaries();
/// nullptr when none is called so.
const Canary* FindCanary(std::string_view name);

std::span<const CanaryNet> CanaryNets();

}  // namespace latchkey
