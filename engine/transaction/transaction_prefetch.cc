// Keys announced by a transaction. The leaves that are resident are brought into the processor's
// cache together, and kept for the reads that follow (not with FixMode::kLatched). The missing ones
// are read from the device together (docs/decisions/0029).
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/transaction/transaction_reader.h"

namespace latchkey {
namespace {

bool IsWanted(const TreeImpl* tree, std::string_view key) {
  return tree != nullptr && key.size() <= Database::kMaxKeySize;
}

}  // namespace

void TransactionReader::WarmLeaves(PoolActor& actor, size_t count, KeyAt key_at,
                                   MissingPages* missing) {
  constexpr size_t kBatch = 32;
  std::array<DescentHint, kBatch> ways;
  std::array<OptimisticGuard, kBatch> leaves;
  std::array<SlotPosition, kBatch> positions;
  state_.known_leaves.BeginAnnouncing(count);
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t n = std::min(kBatch, count - begin);
    for (size_t i = 0; i < n; ++i) {
      const auto [tree, key] = key_at(begin + i);
      if (!IsWanted(tree, key) ||
          !tree->btree.PeekLeaf(actor, key, &ways[i], /*fences=*/nullptr, missing)) {
        ways[i] = {};
      } else {
        state_.context.pool.PrefetchTranslation(ways[i].leaf);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      leaves[i] = {};
      if (!ways[i].parent) continue;
      key_at(begin + i).first->btree.Enter(actor);
      if (!state_.context.pool.TryFixOptimistic(actor, ways[i].leaf, &leaves[i])) {
        if (!state_.context.pool.IsResident(ways[i].leaf)) missing->leaves.push_back(ways[i].leaf);
        continue;
      }
      PoolActor::Add(actor.scouting_fixes, 1);
      NodeView::Prefetch(leaves[i].data());
    }
    for (size_t i = 0; i < n; ++i) {
      if (!leaves[i]) continue;
      const auto [tree, key] = key_at(begin + i);
      const NodeView leaf(leaves[i].data(), state_.context.pool.page_size());
      positions[i] = leaf.LowerBound(key);
      leaf.PrefetchRecord(positions[i].slot);
      // The user of the entry finds out whether the leaf has changed meanwhile.
      if (BTree::IsLeafPage(leaf) && ways[i].parent.Validate()) {
        state_.known_leaves.Announce(*tree, key, {leaves[i], positions[i]});
      }
    }
    for (size_t i = 0; i < n; ++i) {
      if (!leaves[i] || !positions[i].exact) continue;
      NodeView(leaves[i].data(), state_.context.pool.page_size()).PrefetchValue(positions[i].slot);
    }
  }
}

void TransactionReader::FindMissing(PoolActor& actor, size_t count, KeyAt key_at,
                                    MissingPages* missing) {
  missing->Clear();
  for (size_t i = 0; i < count; ++i) {
    const auto [tree, key] = key_at(i);
    if (IsWanted(tree, key)) tree->btree.FindMissing(actor, key, missing);
  }
}

bool TransactionReader::AscendInOneLeaf(size_t count, KeyAt key_at) {
  if (count < 2) return true;
  const auto [tree, first] = key_at(0);
  if (tree == nullptr) return false;
  std::string_view last = first;
  for (size_t i = 1; i < count; ++i) {
    const auto [other, key] = key_at(i);
    if (other != tree || key < last) return false;
    last = key;
  }
  PoolActor& actor = state_.context.pool.Here();
  DescentHint to_first, to_last;
  return tree->btree.PeekLeaf(actor, first, &to_first) &&
         tree->btree.PeekLeaf(actor, last, &to_last) && to_first.leaf == to_last.leaf;
}

// The leaves are asked for once: the pool may read a part of them only (AheadShare).
void TransactionReader::Prefetch(size_t count, KeyAt key_at) {
  constexpr uint32_t kRounds = 8;  // more than a tree has levels
  if (!state_.txn.active()) return;
  BufferPool& pool = state_.context.pool;
  PoolActor& actor = pool.Here();
  MissingPages missing;
  if (pool.fix_mode() == FixMode::kLatched) {
    if (!actor.prefetch_pays.ShouldAsk()) return;
    FindMissing(actor, count, key_at, &missing);
    actor.prefetch_pays.Note(!missing.inner.empty() || !missing.leaves.empty());
  } else {
    WarmLeaves(actor, count, key_at, &missing);
  }
  for (uint32_t round = 0; round < kRounds && !missing.inner.empty(); ++round) {
    const PageId first = missing.inner.front();
    pool.Prefetch(actor, missing.inner);
    if (!pool.IsResident(first)) break;  // no frame, or another actor reads it
    FindMissing(actor, count, key_at, &missing);
  }
  if (!missing.leaves.empty()) pool.Prefetch(actor, missing.leaves);
}

}  // namespace latchkey
