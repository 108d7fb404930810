#include "engine/btree/tree.h"

#include <absl/status/status.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/leaf_change.h"
#include "engine/btree/tree_drop.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/testing/map_page_store.h"

namespace latchkey::tree_test {
namespace {

struct Fixture {
  explicit Fixture(uint32_t frames, uint32_t page_size = 4096, FixMode mode = FixMode::kOptimistic,
                   const char* synchronization = "global")
      : store(ThreadRuntime(), page_size) {
    auto policy =
        MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("clock"),
                      SynchronizationSchemes().Named(synchronization), frames, frames, 42);
    REQUIRE(policy.ok());
    auto made = BufferPool::Create(ThreadRuntime(), store, *std::move(policy), frames, frames);
    REQUIRE(made.ok());
    pool = *std::move(made);
    pool->SetFixMode(mode);
    auto root = BTree::Create(*pool);
    REQUIRE(root.ok());
    tree = std::make_unique<BTree>(*pool, *root);
  }

  void Put(std::string_view key, std::string_view value) {
    const absl::Status done =
        ChangeRecord(*tree, key, value.size(), [&](NodeEditor& leaf, SlotPosition position) {
          const bool fits = position.exact ? leaf.ReplaceValue(position.slot, value, 0)
                                           : leaf.Insert(position.slot, key, value, 0);
          return fits ? absl::OkStatus() : absl::InternalError("no room");
        });
    if (!done.ok()) FAIL(done.message());
  }
  bool Delete(std::string_view key) {
    bool found = false, underfull = false;
    REQUIRE(ChangeRecord(*tree, key, 0, [&](NodeEditor& leaf, SlotPosition position) {
              found = position.exact;
              if (found) leaf.Remove(position.slot);
              underfull = BTree::IsUnderfull(leaf);
              return absl::OkStatus();
            }).ok());
    if (underfull) tree->TryMerge(pool->Here(), key);
    return found;
  }
  std::optional<std::string> Get(std::string_view key) {
    for (;;) {
      OptimisticGuard guard;
      REQUIRE(tree->FindLeaf(pool->Here(), key, &guard).ok());
      const NodeView leaf(guard.data(), tree->page_size());
      const SlotPosition position = leaf.LowerBound(key);
      std::string value;
      if (position.exact) leaf.CopyValue(position.slot, &value);
      if (!guard.Validate()) continue;
      return position.exact ? std::optional<std::string>(value) : std::nullopt;
    }
  }
  /// `key` when no greater one is there.
  std::string KeyAtOrAfter(const std::string& key) {
    OptimisticGuard guard;
    REQUIRE(tree->FindLeaf(pool->Here(), key, &guard).ok());
    const NodeView leaf(guard.data(), tree->page_size());
    const SlotPosition position = leaf.LowerBound(key);
    std::string at;
    if (position.slot == leaf.count() || !leaf.AppendKey(position.slot, &at)) return key;
    return at;
  }
  std::map<std::string, std::string> Scan() {
    std::map<std::string, std::string> all;
    std::vector<std::byte> page(tree->page_size());
    OwnedFences fences;
    OptimisticGuard guard;
    std::string from;
    for (;;) {
      REQUIRE(tree->CopyLeaf(pool->Here(), {.kind = LeafTarget::Kind::kCovering, .key = from}, 4,
                             page.data(), &fences, &guard)
                  .ok());
      const LatchedNodeView leaf(page.data(), tree->page_size());
      for (uint32_t slot = 0; slot < leaf.count(); ++slot) {
        std::string key;
        leaf.AppendKey(slot, &key);
        all.emplace(key, leaf.Value(slot));
      }
      if (!fences.has_upper) return all;
      from = fences.upper;
    }
  }
  uint64_t CheckedPages() {
    uint64_t pages = 0;
    const absl::Status checked = tree->Check(
        [&](PageId) {
          ++pages;
          return absl::OkStatus();
        },
        [](std::string_view) { return absl::OkStatus(); });
    if (!checked.ok()) FAIL(checked.message());
    return pages;
  }

  MapPageStore store;
  std::unique_ptr<BufferPool> pool;
  std::unique_ptr<BTree> tree;
};

std::string HostileKey(Rng& rng) {
  switch (rng.Below(5)) {
    case 0:
      return std::to_string(rng.Below(100'000));
    case 1:
      return std::string(1024, 'p').replace(1016, 8, std::to_string(10'000'000 + rng.Below(3000)));
    case 2: {
      std::string key(1 + rng.Below(1024), static_cast<char>('a' + rng.Below(4)));
      return key;
    }
    case 3:
      return std::string(rng.Below(12), '\0');
    default: {
      std::string key(rng.Below(30), ' ');
      for (char& c : key) c = static_cast<char>(rng.Below(256));
      return key;
    }
  }
}

TEST_CASE("The tree agrees with an ordered map under random changes of hostile keys") {
  const auto [page_size, mode, synchronization] = GENERATE(table<uint32_t, FixMode, const char*>({
      {4096, FixMode::kOptimistic, "global"},
      {4096, FixMode::kLatched, "global"},
      {4096, FixMode::kOptimistic, "separate:actors=1:private=0.2"},
      {16384, FixMode::kOptimistic, "global"},
      {65536, FixMode::kLatched, "global"},
  }));
  Fixture f(100, page_size, mode, synchronization);
  std::map<std::string, std::string> model;
  Rng rng(page_size);
  constexpr int kChanges = kThreadSanitizer ? 3'000 : 15'000;  // one thread has no races to find
  for (int i = 0; i < kChanges; ++i) {
    std::string key = HostileKey(rng);
    if (rng.Below(4) == 0 && !model.empty()) {
      auto it = model.lower_bound(key);
      if (it != model.end()) key = it->first;
      CHECK(f.Delete(key) == (model.erase(key) > 0));
    } else {
      const size_t limit = MaxInlineValue(page_size, key.size());
      std::string value(rng.Below(10) == 0 ? limit : rng.Below(std::min<size_t>(limit, 60) + 1),
                        'v');
      f.Put(key, value);
      model[key] = value;
    }
    if (i % 10 == 0) {
      const std::string probe = HostileKey(rng);
      const auto it = model.find(probe);
      CHECK(f.Get(probe) ==
            (it == model.end() ? std::nullopt : std::optional<std::string>(it->second)));
    }
  }
  CHECK(f.Scan() == model);
  const uint64_t pages = f.CheckedPages();
  for (const auto& [key, value] : std::map(model)) {
    CHECK(f.Delete(key));
    model.erase(key);
  }
  CHECK(f.Scan().empty());
  // Pages go back as keys go; a few stay whose siblings' long keys forbade the merge at its time.
  CHECK(f.CheckedPages() <= std::max<uint64_t>(4, pages / 8));
}

TEST_CASE("Whatever has become of a hint, the leaf that is fixed with it covers the key") {
  Fixture f(400);
  Rng rng(7);
  DescentHint hint;
  std::string key;
  for (int i = 0; i < 30'000; ++i) {
    // Runs of neighbours, jumps, and now and then a change that splits or merges something.
    key = rng.Below(3) == 0 ? HostileKey(rng) : key + static_cast<char>('a' + rng.Below(3));
    if (key.size() > 1000) key.clear();
    if (i < 12'000 && rng.Below(2) == 0) f.Put(key, std::string(rng.Below(60), 'v'));
    if (i > 12'000 && rng.Below(2) == 0) f.Delete(f.KeyAtOrAfter(key));
    ExclusiveGuard fixed;
    REQUIRE(f.tree->FixLeaf(f.pool->Here(), key, &fixed, &hint).ok());
    const PageId page = fixed.page();
    fixed.Unfix();
    OptimisticGuard found;
    REQUIRE(f.tree->FindLeaf(f.pool->Here(), key, &found).ok());
    REQUIRE(page == found.page());
  }
}

TEST_CASE("A descent that begins at a hint fixes the parent and the leaf") {
  Fixture f(2000);
  const auto key_of = [](int i) { return std::to_string(1'000'000 + i); };
  for (int i = 0; i < 60'000; ++i) f.Put(key_of(i), "value");
  DescentHint hint;
  const auto fixes_for = [&](int i) {
    const uint64_t before = f.pool->stats().hits;
    ExclusiveGuard leaf;
    REQUIRE(f.tree->FixLeaf(f.pool->Here(), key_of(i), &leaf, &hint).ok());
    return f.pool->stats().hits - before;
  };
  CHECK(fixes_for(30'010) == 3);  // root, parent, leaf
  uint64_t hinted = 0;
  for (int i = 30'011; i < 30'015; ++i) hinted += fixes_for(i) == 2 ? 1 : 0;
  CHECK(hinted >= 3);  // one of them may be the first of the next leaf
}

TEST_CASE("Ascending inserts leave full pages behind") {
  Fixture f(2000);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    std::string key(8, '\0');
    for (int b = 0; b < 8; ++b) key[b] = static_cast<char>(i >> (56 - 8 * b));
    f.Put(key, std::string(100, 'x'));
    bytes += 108;
  }
  const uint64_t pages = f.CheckedPages();
  CHECK(static_cast<double>(bytes) / static_cast<double>(pages * 4096) > 0.88);
}

TEST_CASE("A dropped tree gives every page back") {
  Fixture f(200);
  for (uint64_t i = 0; i < 5'000; ++i) f.Put(std::to_string(i * 7919), std::string(50, 'x'));
  REQUIRE(f.pool->WriteAllDirty().ok());
  CHECK(f.store.stats().live_pages > 50);
  TreeDrop drop(*f.pool, f.tree->root());
  REQUIRE(drop.Run([](std::string_view) { return absl::OkStatus(); },
                   [&](PageId page) { return f.pool->FreePageById(f.pool->Here(), page); },
                   [](PageId) { return false; })
              .ok());
  CHECK(f.store.stats().live_pages == 0);
}

// The store of a crashed database may not know an id that was freed before: it had never written the
// page. Recovery continued a drop, met the id in the parent, and refused the open for good.
TEST_CASE("A drop passes over a child that is gone, also if the store does not know its id") {
  Fixture f(200);
  for (uint64_t i = 0; i < 1'000; ++i) f.Put(std::to_string(i * 7919), std::string(50, 'x'));
  const PageId unknown{f.store.page_id_limit() + 7};
  {
    ExclusiveGuard root;
    REQUIRE(f.pool->FixExclusive(f.pool->Here(), f.tree->root(), &root).ok());
    NodeEditor node(root.Mutable(), 4096, f.pool->Here().scratch.get());
    REQUIRE(!node.is_leaf());
    REQUIRE(node.InsertSeparator(node.count(), "~", node.Child(node.count()), unknown));
  }
  REQUIRE(f.pool->WriteAllDirty().ok());
  const auto drop = [&](PageId gone) {
    return TreeDrop(*f.pool, f.tree->root())
        .Run([](std::string_view) { return absl::OkStatus(); },
             [](PageId) { return absl::OkStatus(); }, [&](PageId page) { return page == gone; });
  };
  CHECK(drop(unknown).ok());
  CHECK(absl::IsDataLoss(drop(kInvalidPageId)));
}

// Between the calls the freed pages belong to others: no page may be freed twice, and no freed page
// read.
TEST_CASE("A drop that fails again and again frees every page once") {
  Fixture f(200);
  for (uint64_t i = 0; i < 3'000; ++i) f.Put(std::to_string(i * 7919), std::string(50, 'x'));
  REQUIRE(f.pool->WriteAllDirty().ok());
  const uint64_t pages = f.store.stats().live_pages;
  TreeDrop drop(*f.pool, f.tree->root());
  Rng rng(5);
  std::set<PageId> freed;
  uint64_t failures = 0;
  absl::Status done;
  do {
    done = drop.Run([](std::string_view) { return absl::OkStatus(); },
                    [&](PageId page) -> absl::Status {
                      if (rng.Below(3) == 0) return absl::ResourceExhaustedError("on purpose");
                      CHECK(freed.insert(page).second);
                      // Its content is gone, though its id is not reused yet.
                      ExclusiveGuard guard;
                      REQUIRE(f.pool->FixExclusive(f.pool->Here(), page, &guard).ok());
                      std::memset(guard.Mutable() + kPageHeaderSize, 0xff, 64);
                      return absl::OkStatus();
                    },
                    [](PageId) { return false; });
    failures += !done.ok();
  } while (absl::IsResourceExhausted(done));
  CHECK(done.ok());
  CHECK(freed.size() == pages);
  CHECK(failures > 0);
}

TEST_CASE("A split that finds no room in the store fails and leaves the tree sound") {
  Fixture f(200);
  uint64_t i = 0;
  for (; i < 3'000; ++i) f.Put(std::to_string(i), std::string(50, 'x'));
  f.store.full = true;
  absl::Status failed;
  while (failed.ok()) {
    const std::string key = std::to_string(i++);
    failed = ChangeRecord(*f.tree, key, 50, [&](NodeEditor& leaf, SlotPosition position) {
      leaf.Insert(position.slot, key, std::string(50, 'x'), 0);
      return absl::OkStatus();
    });
  }
  CHECK(absl::IsResourceExhausted(failed));
  f.CheckedPages();
  f.store.full = false;
  f.Put(std::to_string(i), "y");
  CHECK(f.Scan().size() == i);
}

TEST_CASE("The missing pages of many keys are found and read level by level") {
  Fixture f(100);
  for (uint64_t i = 0; i < 5'000; ++i) f.Put(std::to_string(i), std::string(50, 'x'));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 20; ++i) keys.push_back(std::to_string(i * 251 % 5000));
  for (uint32_t level = 0; level < 8; ++level) {
    MissingPages missing;
    for (const std::string& key : keys) f.tree->FindMissing(f.pool->Here(), key, &missing);
    f.pool->Prefetch(f.pool->Here(), missing.inner);
    f.pool->Prefetch(f.pool->Here(), missing.leaves);
  }
  const uint64_t demand_reads = f.pool->stats().demand_reads;
  for (const std::string& key : keys) CHECK(f.Get(key).has_value());
  CHECK(f.pool->stats().demand_reads == demand_reads);
}

// A writer that finds no room gives its latch back and asks for a split. Until that begins, another
// writer may have split the leaf or made its record shorter: a leaf of one record cannot be split.
TEST_CASE("A split for a record that fits by now changes nothing") {
  Fixture f(100);
  f.Put("key", "short");
  REQUIRE(f.tree->Split(f.pool->Here(), {.key = "key", .value_size = 950}).ok());
  CHECK(f.CheckedPages() == 1);
  f.Put("other", std::string(950, 'x'));
  REQUIRE(f.tree->Split(f.pool->Here(), {.key = "key", .value_size = 950}).ok());
  CHECK(f.CheckedPages() == 1);
  CHECK(f.Scan().size() == 2);
}

TEST_CASE("Leaves are packed from left to right until all but the last below a parent are full") {
  Fixture f(400);
  Rng rng(3);
  std::map<std::string, std::string> model;
  for (uint64_t i = 0; i < 5'000; ++i) {
    const std::string key = std::to_string(rng.Next());
    f.Put(key, model[key] = std::string(rng.Below(120), 'v'));
  }
  const uint64_t before = f.CheckedPages();
  std::string key;
  for (bool more = true; more;) {
    if (f.tree->TryPackNext(f.pool->Here(), key) != BTree::Packed::kNothing) continue;
    OptimisticGuard guard;
    std::vector<std::byte> copy(4096);
    OwnedFences fences;
    REQUIRE(f.tree
                ->CopyLeaf(f.pool->Here(), {LeafTarget::Kind::kCovering, key}, 0, copy.data(),
                           &fences, &guard)
                .ok());
    more = fences.has_upper;
    key = fences.upper;
  }
  CHECK(f.Scan() == model);
  CHECK(static_cast<double>(f.CheckedPages()) < .8 * static_cast<double>(before));
}

TEST_CASE("A tree that is packed after deletes has no more levels than a new one") {
  const auto levels = [](Fixture& fixture) {
    ExclusiveGuard root;
    REQUIRE(fixture.pool->FixExclusive(fixture.pool->Here(), fixture.tree->root(), &root).ok());
    return NodeView(root.data(), 4096).level() + 1;
  };
  Fixture f(4000), fresh(400);
  const auto key_of = [](uint64_t i) { return std::to_string(100'000 + i) + std::string(40, 'k'); };
  constexpr uint64_t kRecords = 30'000, kKeepsOneIn = 10;
  for (uint64_t i = 0; i < kRecords; ++i) f.Put(key_of(i), std::string(300, 'v'));
  for (uint64_t i = 0; i < kRecords; ++i) {
    if (i % kKeepsOneIn != 0) f.Delete(key_of(i));
  }
  for (uint64_t i = 0; i < kRecords; i += kKeepsOneIn) fresh.Put(key_of(i), std::string(300, 'v'));
  for (uint64_t i = 0; i < kRecords; i += kKeepsOneIn) {
    while (f.tree->TryPackNext(f.pool->Here(), key_of(i)) != BTree::Packed::kNothing) {
    }
  }
  CHECK(f.Scan() == fresh.Scan());
  CHECK(levels(f) == levels(fresh));
}

// A union with a page of another level broke an invariant of the editor: the process ended.
TEST_CASE("A leaf is not united with a page that a damaged tree names as its sibling") {
  const bool is_inner = GENERATE(false, true);  // or of an overflow chain
  CAPTURE(is_inner);
  Fixture f(200);
  for (int i = 1000; i < 1400; ++i) f.Put(std::to_string(i), std::string(100, 'v'));
  const auto leaf_of = [&](std::string_view key) {
    OptimisticGuard guard;
    std::vector<std::byte> copy(4096);
    OwnedFences fences;
    REQUIRE(f.tree
                ->CopyLeaf(f.pool->Here(), {LeafTarget::Kind::kCovering, std::string(key)}, 0,
                           copy.data(), &fences, &guard)
                .ok());
    return std::pair(guard.page(), fences);
  };
  const auto [first, fences] = leaf_of("1000");
  const PageId second = leaf_of(fences.upper).first;
  REQUIRE(first != second);
  {
    ExclusiveGuard guard;
    REQUIRE(f.pool->FixExclusive(f.pool->Here(), second, &guard).ok());
    if (is_inner) {
      NodeEditor(guard.Mutable(), 4096).Init(/*level=*/1, {});
    } else {
      RacyStore<uint8_t>(guard.Mutable() + offsetof(PageHeader, page_type),
                         static_cast<uint8_t>(PageType::kOverflow));
    }
  }
  CHECK(f.tree->TryPackNext(f.pool->Here(), "1000") == BTree::Packed::kNothing);
  f.tree->TryMerge(f.pool->Here(), "1000");
}

TEST_CASE("Concurrent inserts, deletes and lookups keep the tree sound", "[concurrency]") {
  const uint32_t frames = GENERATE(64u, 4000u);  // with and without eviction
  const auto [mode, synchronization] =
      GENERATE(table<FixMode, const char*>({{FixMode::kOptimistic, "global"},
                                            {FixMode::kLatched, "global"},
                                            {FixMode::kOptimistic, "separate:actors=2"}}));
  Fixture f(frames, 4096, mode, synchronization);
  constexpr uint64_t kActors = 3, kOperations = 4'000;
  std::vector<std::map<std::string, std::string>> models(kActors);
  std::atomic<bool> wrong{false};
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint64_t a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("worker", [&, a] {
      Rng rng(a);
      auto& model = models[a];
      for (uint64_t i = 0; i < kOperations; ++i) {
        // Each actor owns the keys that end with its number: neighbours on every page differ.
        const std::string key = std::to_string(rng.Below(3'000)) + "-" + std::to_string(a);
        if (rng.Below(3) == 0) {
          if (f.Delete(key) != (model.erase(key) > 0)) wrong = true;
        } else {
          const std::string value(rng.Below(200), static_cast<char>('a' + a));
          f.Put(key, value);
          model[key] = value;
        }
        const std::string probe = std::to_string(rng.Below(3'000)) + "-" + std::to_string(a);
        const auto it = model.find(probe);
        const auto got = f.Get(probe);
        if (got.has_value() != (it != model.end()) || (got && *got != it->second)) wrong = true;
      }
    }));
  }
  actors.clear();
  CHECK_FALSE(wrong);
  std::map<std::string, std::string> all;
  for (const auto& model : models) all.insert(model.begin(), model.end());
  CHECK(f.Scan() == all);
  f.CheckedPages();
}

}  // namespace
}  // namespace latchkey::tree_test
