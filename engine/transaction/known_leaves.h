// Leaves where keys were found a moment ago, so that the next call for the same key needs no
// descent. Most writes follow a read of their key, and most keys that are announced together
// (Transaction::Prefetch) are read soon after.
//
// An entry is a guess that its user verifies: BufferPool::TryRefix fixes the page again through the
// entry's guard, and fails if the page has changed since. An unchanged leaf still covers the key,
// and the position in it is still right.
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
  /// Longer announced keys are not kept.
  static constexpr size_t kMaxAnnouncedKey = 39;
  /// Largest number of announced keys that are kept.
  static constexpr size_t kMaxAnnounced = 256;

  void Clear() {
    last_tree_ = nullptr;
    announced_.clear();
    next_ = 0;
  }

  /// Forgets the keys announced before and makes room for `count` keys.
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

  /// Remembers the key that was read last. Forgets the one before, even if the call throws for lack
  /// of memory.
  void Remember(const TreeImpl& tree, std::string_view key, const KnownLeaf& known) {
    last_tree_ = nullptr;
    last_key_ = key;
    last_ = known;
    last_tree_ = &tree;
  }

  /// The known leaf of `key`; nullptr = unknown. Announced keys are found if the caller asks for
  /// them in the order of their announcement; it may skip some.
  const KnownLeaf* Find(const TreeImpl& tree, std::string_view key) {
    if (last_tree_ == &tree && last_key_ == key) return &last_;
    const size_t end = std::min(next_ + kLookAhead, announced_.size());
    for (size_t i = next_; i < end; ++i) {
      if (!announced_[i].Is(tree, key)) continue;
      next_ = i;  // not i + 1: the caller may write this key next
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
  size_t next_ = 0;  // index in announced_ where Find begins
};

}  // namespace latchkey
