// A descent reaches its leaf whatever the replacement algorithm prefers to evict.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/leaf_change.h"
#include "engine/btree/tree.h"
#include "storage/runtime/simulated_runtime.h"
#include "storage/testing/map_page_store.h"

namespace latchkey::descent_progress_test {
namespace {

// Evicts the page that was fixed last: on a descent, the parent of the page that is loaded.
class MostRecentFirst final : public ReplacementAlgorithm {
 public:
  MostRecentFirst(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : ReplacementAlgorithm(config) {}

  void OnHit(FrameId frame) override {
    OnRemove(frame);
    frames_.push_back(frame);
  }
  void OnLoad(FrameId frame, PageId /*page*/, LoadKind /*kind*/) override {
    frames_.push_back(frame);
  }
  void Reinstate(FrameId frame) override { frames_.push_back(frame); }
  void OnRemove(FrameId frame) override { std::erase(frames_, frame); }
  FrameId Victim(PageId /*incoming*/, absl::FunctionRef<bool(FrameId)> evictable) override {
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
      if (!evictable(*frame)) continue;
      const FrameId victim = *frame;
      frames_.erase(std::next(frame).base());
      return victim;
    }
    return kNoFrame;
  }
  size_t PeekColdest(std::span<FrameId> out) const override {
    const size_t count = std::min(out.size(), frames_.size());
    std::copy_n(frames_.rbegin(), count, out.begin());
    return count;
  }
  void Resize(size_t /*frames*/) override {}
  size_t size() const override { return frames_.size(); }

 private:
  std::vector<FrameId> frames_;  // the one that was fixed last is at the end
};

constexpr ReplacementInfo kHostile[] = {
    {.description = {.name = "most-recent-first",
                     .summary = "evicts what was fixed last",
                     .parameters = {}},
     .hit_needs = HitNeeds::kLock,
     .fewest_frames = 1,
     .needs_future = false,
     .simulator_only = [](std::span<const double>) { return std::string_view(); },
     .bytes_per_frame = [](std::span<const double>) { return sizeof(FrameId); },
     .make = [](const ReplacementConfig& config,
                std::span<const double> parameters) -> std::unique_ptr<ReplacementAlgorithm> {
       return std::make_unique<MostRecentFirst>(config, parameters);
     }}};

// Keys so long that an inner page has few children, and 600 of them give a tree of many levels.
std::string LongKey(uint64_t i) { return std::to_string(100'000 + i) + std::string(700, 'k'); }

struct HostilePool {
  HostilePool(Runtime& runtime, uint32_t frames, FixMode mode = FixMode::kOptimistic)
      : store(runtime, 4096) {
    const Registry<ReplacementInfo> registry("replacement algorithm", kHostile);
    auto policy = MakeFixPolicy(runtime, registry.Named("most-recent-first"),
                                SynchronizationSchemes().Named("global"), frames, frames, 1);
    REQUIRE(policy.ok());
    auto made = BufferPool::Create(runtime, store, *std::move(policy), frames, frames);
    REQUIRE(made.ok());
    pool = *std::move(made);
    pool->SetFixMode(mode);
    const auto root = BTree::Create(*pool);
    REQUIRE(root.ok());
    tree = std::make_unique<BTree>(*pool, *root);
  }
  bool Insert(const std::string& key) {
    return ChangeRecord(*tree, key, 1,
                        [&](NodeEditor& leaf, SlotPosition position) {
                          return leaf.Insert(position.slot, key, "v", 0)
                                     ? absl::OkStatus()
                                     : absl::InternalError("no room");
                        })
        .ok();
  }
  bool Has(const std::string& key) {
    for (;;) {
      OptimisticGuard guard;
      if (!tree->FindLeaf(pool->Here(), key, &guard).ok()) return false;
      const bool found = NodeView(guard.data(), 4096).LowerBound(key).exact;
      if (guard.Validate()) return found;
    }
  }

  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::unique_ptr<BTree> tree;
};

TEST_CASE("A descent ends though the replacement algorithm evicts each page for its own child") {
  constexpr uint64_t kActors = 3, kKeys = 200;
  SimulatedRuntime runtime({.seed = 1, .quantum = 0, .preempt_probability = 0.05});
  uint64_t inserted = 0, found = 0, copied = 0;
  const absl::Status ran = runtime.Run([&] {
    HostilePool f(runtime, BufferPool::kMinFrames);
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint64_t a = 0; a < kActors; ++a) {
      actors.push_back(runtime.Spawn("writer", [&, a] {
        for (uint64_t i = 0; i < kKeys; ++i) inserted += f.Insert(LongKey(i * kActors + a));
      }));
    }
    actors.clear();
    for (uint64_t i = 0; i < kActors * kKeys; ++i) found += f.Has(LongKey(i));
    std::vector<std::byte> page(f.tree->page_size());
    OwnedFences fences;
    OptimisticGuard leaf;
    for (uint64_t i = 0; i < kActors * kKeys; i += 10) {
      const std::string key = LongKey(i);
      copied += f.tree
                    ->CopyLeaf(f.pool->Here(), {.kind = LeafTarget::Kind::kCovering, .key = key}, 2,
                               page.data(), &fences, &leaf)
                    .ok();
    }
  });
  REQUIRE(ran.ok());
  CHECK(inserted == kActors * kKeys);
  CHECK(found == kActors * kKeys);
  CHECK(copied == kActors * kKeys / 10);
}

TEST_CASE("A latched descent fixes each page once, though the algorithm would evict its parent") {
  constexpr uint64_t kKeys = 600;
  HostilePool f(ThreadRuntime(), BufferPool::kMinFrames, FixMode::kLatched);
  for (uint64_t i = 0; i < kKeys; ++i) REQUIRE(f.Insert(LongKey(i)));
  uint64_t height = 1;
  {
    SharedGuard root;
    REQUIRE(f.pool->FixShared(f.pool->Here(), f.tree->root(), &root).ok());
    height += NodeView(root.data(), 4096).level();
  }
  REQUIRE(height >= 2);
  SharedGuard leaf;
  const BufferPoolStats before = f.pool->stats();
  for (uint64_t i = 0; i < kKeys; ++i) {
    REQUIRE(f.tree->LatchLeaf(f.pool->Here(), LongKey(i), &leaf).ok());
    leaf.Unfix();
  }
  const BufferPoolStats found = f.pool->stats();
  CHECK(found.fixes - before.fixes == kKeys * height);
  std::vector<std::byte> page(f.tree->page_size());
  OwnedFences fences;
  OptimisticGuard copied;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const std::string key = LongKey(i);
    REQUIRE(f.tree
                ->CopyLeaf(f.pool->Here(), {.kind = LeafTarget::Kind::kCovering, .key = key}, 0,
                           page.data(), &fences, &copied)
                .ok());
  }
  CHECK(f.pool->stats().fixes - found.fixes == kKeys * height);
}

}  // namespace
}  // namespace latchkey::descent_progress_test
