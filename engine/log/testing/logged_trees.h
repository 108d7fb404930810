// Trees with transactions and a log in memory: a database's parts without devices.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/tree_drop.h"
#include "engine/log/engine_log.h"
#include "engine/log/testing/memory_log.h"
#include "engine/transaction_impl.h"
#include "storage/testing/map_page_store.h"

namespace latchkey {

inline std::unique_ptr<BufferPool> MakeTestPool(PageStore& store, uint32_t frames) {
  auto pool = BufferPool::Create(ThreadRuntime(), store,
                                 MakePlainFixPolicy(ThreadRuntime(), frames), frames, frames);
  REQUIRE(pool.ok());
  return *std::move(pool);
}

class LoggedTrees : public GcClient {
 public:
  static constexpr uint32_t kPageSize = 4096;

  explicit LoggedTrees(EngineLogOptions options = {.page_size = kPageSize}, uint32_t frames = 512)
      : log(ThreadRuntime()),
        store(ThreadRuntime(), kPageSize),
        pool(MakeTestPool(store, frames)),
        engine_log(EngineLog::Start(
            ThreadRuntime(), log, [this](PageId page) { pool->ReturnPageId(pool->Here(), page); },
            options)),
        snapshots(ThreadRuntime()),
        versions(ThreadRuntime(), snapshots, *this),
        overflow(*pool, engine_log.get()),
        ranges(ThreadRuntime(), snapshots),
        context{*pool, snapshots, versions, overflow, ranges, {}, engine_log.get()} {
    pool->SetWriteAheadLog(engine_log.get());
    pool->SetFreedPages(engine_log.get());
  }

  TreeImpl& NewTree() {
    auto root = BTree::Create(*pool, engine_log.get());
    REQUIRE(root.ok());
    const TreeId id{next_tree++};
    trees[Raw(id)] = std::make_unique<TreeImpl>(id, "tree", *pool, *root, engine_log.get());
    return *trees[Raw(id)];
  }
  /// As DatabaseImpl does it, without a catalogue.
  void DropTree(TreeImpl& tree) {
    versions.CollectAll();
    Txn txn;
    REQUIRE(snapshots.Begin(txn).ok());
    versions.EnsureWriter(txn);
    LogTxn drop;
    drop.set_id(txn.id());
    REQUIRE(engine_log->LogDropTree(drop, tree.id, tree.btree.root(), tree.name()).ok());
    REQUIRE(TreeDrop(*pool, tree.btree.root())
                .Run([&](std::string_view chain) { return overflow.Free(chain); },
                     [&](PageId page) {
                       LogSpace space;
                       REQUIRE(engine_log->Reserve(1, false, &space).ok());
                       engine_log->LogFree(nullptr, space, kInvalidPageId, {{page}});
                       return pool->FreePageById(pool->Here(), page);
                     },
                     [](PageId) { return false; })
                .ok());
    engine_log->LogEnd(drop);
    versions.Commit(txn);
    trees.erase(Raw(tree.id));
  }

  // GcClient, as DatabaseImpl.
  void PurgeGhost(TreeId tree_id, std::string_view key, CommitTs unneeded_until) override {
    const auto it = trees.find(Raw(tree_id));
    if (it == trees.end()) return;
    BTree& tree = it->second->btree;
    bool underfull = false;
    {
      LogSpace space;
      if (!engine_log->ReserveSystemChange(&space).ok()) return;
      ExclusiveGuard guard;
      LATCHKEY_CHECK(tree.FixLeaf(pool->Here(), key, &guard).ok());  // called by any actor
      const LatchedNodeView leaf(guard.data(), kPageSize);
      const SlotPosition position = leaf.LowerBound(key);
      if (!position.exact || !leaf.is_ghost(position.slot) ||
          versions.HasVersions(tree_id, key, unneeded_until)) {
        return;
      }
      engine_log->LogSystemChange(space,
                                  {.tree = tree_id,
                                   .page = guard.page(),
                                   .key = key,
                                   .now = RecordState::kAbsent,
                                   .now_bytes = {},
                                   .before = RecordState::kGhost,
                                   .before_bytes = {}},
                                  guard.Mutable());
      NodeEditor(guard.Mutable(), kPageSize).Remove(position.slot);
      underfull = BTree::IsUnderfull(leaf);
    }
    if (underfull) tree.TryMerge(pool->Here(), key);
  }
  void FreeOverflow(TreeId, std::string_view reference) override {
    LATCHKEY_CHECK(overflow.Free(reference).ok());
  }

  /// Every page of all trees and their chains.
  std::vector<PageId> Pages() {
    std::vector<PageId> pages;
    const auto visit = [&](PageId page) {
      pages.push_back(page);
      return absl::OkStatus();
    };
    for (const auto& [id, tree] : trees) {
      const absl::Status checked = tree->btree.Check(
          visit, [&](std::string_view chain) { return overflow.VisitPages(chain, visit); });
      if (!checked.ok()) FAIL(checked.message());
    }
    return pages;
  }

  MemoryLog log;
  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::unique_ptr<EngineLog> engine_log;
  SnapshotManager snapshots;
  VersionStore versions;
  OverflowStore overflow;
  RangeDeletes ranges;
  TransactionContext context;
  std::map<uint32_t, std::unique_ptr<TreeImpl>> trees;
  uint32_t next_tree = 1;
};

}  // namespace latchkey
