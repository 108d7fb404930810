// Keys announced by a transaction. The leaves that are resident are brought into the processor's
// cache together, and kept for the reads that follow. The missing ones are read from the device
// together (docs/decisions/0029).
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "engine/transaction/transaction_reader.h"

namespace latchkey {

bool TransactionReader::WarmLeaves(PoolActor& actor, size_t count, KeyAt key_at,
                                   std::vector<PageId>* missing) {
  constexpr size_t kBatch = 32;
  std::array<DescentHint, kBatch> ways;
  std::array<OptimisticGuard, kBatch> leaves;
  std::array<SlotPosition, kBatch> positions;
  bool inner_missing = false;
  state_.known_leaves.BeginAnnouncing(count);
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t n = std::min(kBatch, count - begin);
    for (size_t i = 0; i < n; ++i) {
      const auto [tree, key] = key_at(begin + i);
      if (tree == nullptr) {
        ways[i] = {};
      } else if (!tree->btree.PeekLeaf(actor, key, &ways[i])) {
        inner_missing |= tree->btree.FindMissing(actor, key, missing);
      } else {
        state_.context.pool.PrefetchTranslation(ways[i].leaf);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      leaves[i] = {};
      if (!ways[i].parent) continue;
      key_at(begin + i).first->btree.Enter(actor);
      if (!state_.context.pool.TryFixOptimistic(actor, ways[i].leaf, &leaves[i])) {
        if (!state_.context.pool.IsResident(ways[i].leaf)) missing->push_back(ways[i].leaf);
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
  return inner_missing;
}

bool TransactionReader::FindMissing(PoolActor& actor, size_t count, KeyAt key_at,
                                    std::vector<PageId>* missing) {
  bool inner_missing = false;
  for (size_t i = 0; i < count; ++i) {
    const auto [tree, key] = key_at(i);
    if (tree != nullptr) inner_missing |= tree->btree.FindMissing(actor, key, missing);
  }
  return inner_missing;
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

void TransactionReader::Prefetch(size_t count, KeyAt key_at) {
  constexpr uint32_t kRounds = 8;  // more than a tree has levels below its resident top
  if (!state_.txn.active()) return;
  BufferPool& pool = state_.context.pool;
  PoolActor& actor = pool.Here();
  const bool is_latched = pool.fix_mode() == FixMode::kLatched;
  if (is_latched && !actor.prefetch_pays.ShouldAsk()) return;
  std::vector<PageId> missing;
  bool inner_missing = is_latched ? FindMissing(actor, count, key_at, &missing)
                                  : WarmLeaves(actor, count, key_at, &missing);
  if (is_latched) actor.prefetch_pays.Note(!missing.empty());
  for (uint32_t round = 0; round < kRounds && !missing.empty(); ++round) {
    pool.Prefetch(actor, missing);
    if (!inner_missing) break;
    missing.clear();
    inner_missing = FindMissing(actor, count, key_at, &missing);
  }
}

}  // namespace latchkey
