// The ordered maps with which the model campaign compares a database. They can go back to a
// savepoint and, after a crash, to an earlier commit.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/campaign/model/model_operations.h"

namespace latchkey {

/// The part of a record in the fingerprint of the contents.
uint64_t ModelFingerprintOf(uint8_t tree, std::string_view key, std::string_view value);

/// Not thread-safe.
class ModelMap {
 public:
  using Map = std::map<std::string, std::string>;

  /// `keeps_commits`: allows GoBackTo.
  explicit ModelMap(bool keeps_commits) : keeps_commits_(keeps_commits) {}

  const Map& tree(uint8_t index) const { return trees_[index]; }
  const std::array<Map, kModelTrees>& all() const { return trees_; }
  /// Sum over all records. Equal contents have equal sums; different contents have different sums,
  /// except by chance.
  uint64_t fingerprint() const { return fingerprint_; }

  void Put(uint8_t tree, const std::string& key, std::string value);
  void Delete(uint8_t tree, const std::string& key);
  /// Removes the records from `from` on, below `to`.
  void DeleteRange(uint8_t tree, const std::string& from, const std::string& to);
  /// Removes all records of a tree.
  void Drop(uint8_t tree);

  /// Number of changes since the last commit; a savepoint is such a number.
  size_t position() const { return undo_.size(); }
  void ReturnTo(size_t position);
  /// The changes since the last call form one commit.
  void Commit();

  /// No crash may undo the commits so far.
  void Secure() { commits_.clear(); }
  /// Undoes the uncommitted changes, then the newest unsecured commits until the contents have this
  /// fingerprint. All remaining commits are then secured. Returns the number of commits undone;
  /// nullopt: no commit has this fingerprint, and all unsecured ones are undone.
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
  std::deque<std::vector<Change>> commits_;  // since the last secured one
};

}  // namespace latchkey
