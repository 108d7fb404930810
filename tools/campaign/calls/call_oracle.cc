#include "tools/campaign/calls/call_oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/base/hash.h"

namespace latchkey {

KeyState MarkOf(std::string_view value) {
  return ValueMark{.size = value.size(), .hash = Hash64(value)};
}

void CallOracle::Commit(const CallChanges& changes) {
  for (const auto& [key, state] : changes) states_[key] = {state};
}

void CallOracle::CommitPerhaps(const CallChanges& changes) {
  for (const auto& [key, state] : changes) {
    std::vector<KeyState>& states = states_[key];
    if (states.empty()) states.push_back(std::nullopt);
    states.push_back(state);
  }
}

void CallOracle::Clear(bool perhaps) {
  if (!perhaps) return states_.clear();
  for (auto& [key, states] : states_) states.push_back(std::nullopt);
}

bool CallOracle::Allows(const std::string& key, const KeyState& state) const {
  const auto it = states_.find(key);
  if (it == states_.end()) return !state.has_value();
  return std::find(it->second.begin(), it->second.end(), state) != it->second.end();
}

std::string CallOracle::Describe(const std::string& key) const {
  const auto it = states_.find(key);
  if (it == states_.end()) return "absent";
  std::string text;
  for (const KeyState& state : it->second) {
    if (!text.empty()) text += " or ";
    text += state ? fmt::format("{} bytes ({:x})", state->size, state->hash) : "absent";
  }
  return text;
}

std::vector<std::string> CallOracle::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, states] : states_) keys.push_back(key);
  return keys;
}

}  // namespace latchkey
