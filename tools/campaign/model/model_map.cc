#include "tools/campaign/model/model_map.h"

#include <utility>

#include "storage/base/hash.h"

namespace latchkey {

uint64_t ModelFingerprintOf(uint8_t tree, std::string_view key, std::string_view value) {
  return Hash64(value, Hash64(key, tree + uint64_t{1})) | 1;
}

void ModelMap::Set(uint8_t tree, const std::string& key, std::optional<std::string> value) {
  const auto found = trees_[tree].find(key);
  if (found != trees_[tree].end()) {
    fingerprint_ -= ModelFingerprintOf(tree, key, found->second);
    if (!value) trees_[tree].erase(found);
  }
  if (!value) return;
  fingerprint_ += ModelFingerprintOf(tree, key, *value);
  trees_[tree][key] = *std::move(value);
}

void ModelMap::Remember(uint8_t tree, const std::string& key) {
  const auto found = trees_[tree].find(key);
  undo_.push_back(
      {tree, key, found == trees_[tree].end() ? std::nullopt : std::optional(found->second)});
}

void ModelMap::Put(uint8_t tree, const std::string& key, std::string value) {
  Remember(tree, key);
  Set(tree, key, std::move(value));
}

void ModelMap::Delete(uint8_t tree, const std::string& key) {
  Remember(tree, key);
  Set(tree, key, std::nullopt);
}

void ModelMap::DeleteRange(uint8_t tree, const std::string& from, const std::string& to) {
  for (auto it = trees_[tree].lower_bound(from); it != trees_[tree].end() && it->first < to;
       it = trees_[tree].lower_bound(from)) {
    Delete(tree, std::string(it->first));
  }
}

void ModelMap::Drop(uint8_t tree) {
  while (!trees_[tree].empty()) Delete(tree, std::string(trees_[tree].begin()->first));
}

void ModelMap::Undo(std::vector<Change>& changes, size_t position) {
  while (changes.size() > position) {
    Change& change = changes.back();
    Set(change.tree, change.key, std::move(change.old));
    changes.pop_back();
  }
}

void ModelMap::ReturnTo(size_t position) { Undo(undo_, position); }

void ModelMap::Commit() {
  if (keeps_commits_ && !undo_.empty()) commits_.push_back(std::move(undo_));
  undo_.clear();
}

std::optional<size_t> ModelMap::GoBackTo(uint64_t fingerprint) {
  ReturnTo(0);
  size_t forgotten = 0;
  for (; fingerprint_ != fingerprint && !commits_.empty(); ++forgotten) {
    Undo(commits_.back(), 0);
    commits_.pop_back();
  }
  Secure();
  return fingerprint_ == fingerprint ? std::optional(forgotten) : std::nullopt;
}

}  // namespace latchkey
