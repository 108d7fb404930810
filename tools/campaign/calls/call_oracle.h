// Oracle of the calls campaign: the states that the keys of one actor may have.
//
// Only this actor writes the keys, so each answered call leaves a known state. After an unknown
// outcome (Unavailable at a commit) the state before and the state after are both possible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// Size and hash of a value; nullopt: the key is missing.
struct ValueMark {
  uint64_t size = 0, hash = 0;
  bool operator==(const ValueMark&) const = default;
};
using KeyState = std::optional<ValueMark>;

KeyState MarkOf(std::string_view value);

/// Changes of one transaction: the newest state of each key.
using CallChanges = std::map<std::string, KeyState>;

class CallOracle {
 public:
  /// All of `changes` are committed.
  void Commit(const CallChanges& changes);
  /// Either all of `changes` are committed or none.
  void CommitPerhaps(const CallChanges& changes);
  /// The tree was dropped, so every key is missing. With `perhaps` the old states stay possible,
  /// too.
  void Clear(bool perhaps);
  /// Whether `key` may be in `state`.
  bool Allows(const std::string& key, const KeyState& state) const;
  /// The possible states of a key, for messages.
  std::string Describe(const std::string& key) const;
  std::vector<std::string> Keys() const;

 private:
  std::map<std::string, std::vector<KeyState>> states_;  // a key without entry is missing
};

}  // namespace latchkey
