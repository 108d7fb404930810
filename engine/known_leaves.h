// Where keys were found a moment ago, so that the next call for the same key need not descend
// again: most writes follow a read of their key, and most keys that are announced together
// (Transaction::Prefetch) are read soon after.
//
// An entry is a guess that proves itself: whoever uses it fixes the page once more through the
// entry's guard (BufferPool::TryRefix), which fails if the page has changed since. An unchanged
// leaf still covers the key, and the position in it stands.
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/page_guard.h"
#include "engine/btree/node.h"

namespace latchkey {

class TreeImpl;

/// The leaf that covers a key, and the key's place in it.
struct KnownLeaf {
  OptimisticGuard leaf;
  SlotPosition position;
};

class KnownLeaves {
 public:
  /// Longer keys are not kept when they are announced.
  static constexpr size_t kMaxAnnouncedKey = 39;
  /// Announced keys that are kept at most.
  static constexpr size_t kMaxAnnounced = 256;

  void Clear() {
    last_tree_ = nullptr;
    announced_.clear();
    next_ = 0;
  }

  /// Forgets what was announced before and makes room for `count` keys.
  void BeginAnnouncing(size_t count) {
    announced_.clear();
    announced_.reserve(std::min(count, kMaxAnnounced));
    next_ = 0;
  }
  /// Adds the next announced key. Allocates nothing.
  void Announce(const TreeImpl& tree, std::string_view key, const KnownLeaf& known) {
    if (key.size() > kMaxAnnouncedKey || announced_.size() == announced_.capacity()) return;
    Announced& entry = announced_.emplace_back();
    entry.known = known;
    entry.tree = &tree;
    entry.key_size = static_cast<uint8_t>(key.size());
    std::copy(key.begin(), key.end(), entry.key.begin());
  }

  /// Remembers the key that was read last. Forgets the one before even if it throws for lack of
  /// memory.
  void Remember(const TreeImpl& tree, std::string_view key, const KnownLeaf& known) {
    last_tree_ = nullptr;
    last_key_ = key;
    last_ = known;
    last_tree_ = &tree;
  }

  /// What is known of `key`; nullptr: nothing. Announced keys are found when they are asked for in
  /// the order in which they were announced, some left out.
  const KnownLeaf* Find(const TreeImpl& tree, std::string_view key) {
    if (last_tree_ == &tree && last_key_ == key) return &last_;
    const size_t end = std::min(next_ + kLookAhead, announced_.size());
    for (size_t i = next_; i < end; ++i) {
      if (!announced_[i].Is(tree, key)) continue;
      next_ = i;  // not beyond: it may be written next
      return &announced_[i].known;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kLookAhead = 4;

  struct Announced {
    KnownLeaf known;
    const TreeImpl* tree;
    uint8_t key_size;
    std::array<char, kMaxAnnouncedKey> key;

    bool Is(const TreeImpl& other_tree, std::string_view other) const {
      return tree == &other_tree && std::string_view(key.data(), key_size) == other;
    }
  };

  const TreeImpl* last_tree_ = nullptr;
  std::string last_key_;
  KnownLeaf last_;
  std::vector<Announced> announced_;
  size_t next_ = 0;  // of announced_: where to look first
};

}  // namespace latchkey
