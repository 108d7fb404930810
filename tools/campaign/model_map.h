// The ordered maps that a database of the model campaign is compared with: they can go back to a
// savepoint, and, behind a crash, to an earlier commit.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/campaign/model_operations.h"

namespace latchkey {

/// What a record adds to the fingerprint of the contents that it is part of.
uint64_t ModelFingerprintOf(uint8_t tree, std::string_view key, std::string_view value);

/// Not thread-safe.
class ModelMap {
 public:
  using Map = std::map<std::string, std::string>;

  /// `keeps_commits`: GoBackTo can be called.
  explicit ModelMap(bool keeps_commits) : keeps_commits_(keeps_commits) {}

  const Map& tree(uint8_t index) const { return trees_[index]; }
  const std::array<Map, kModelTrees>& all() const { return trees_; }
  /// The sum over all records: equal for equal contents, and for different ones by chance alone.
  uint64_t fingerprint() const { return fingerprint_; }

  void Put(uint8_t tree, const std::string& key, std::string value);
  void Delete(uint8_t tree, const std::string& key);
  /// All records of a tree.
  void Drop(uint8_t tree);

  /// Changes since the last commit: savepoints are positions.
  size_t position() const { return undo_.size(); }
  void ReturnTo(size_t position);
  /// What was changed since the last call is one commit.
  void Commit();

  /// No crash takes away what is committed now.
  void Secure() { commits_.clear(); }
  /// Forgets what is not committed, and of the commits that are not secured the newest ones, until
  /// the contents have this fingerprint; then all is secured. The number of commits forgotten;
  /// nullopt when no such commit is found: all are forgotten then.
  std::optional<size_t> GoBackTo(uint64_t fingerprint);

 private:
  struct Change {
    uint8_t tree;
    std::string key;
    std::optional<std::string> old;
  };
  void Set(uint8_t tree, const std::string& key, std::optional<std::string> value);
  void Remember(uint8_t tree, const std::string& key);
  void Undo(std::vector<Change>& changes, size_t position);

  const bool keeps_commits_;
  std::array<Map, kModelTrees> trees_;
  uint64_t fingerprint_ = 0;
  std::vector<Change> undo_;
  std::deque<std::vector<Change>> commits_;  // since the last that is secured
};

}  // namespace latchkey
