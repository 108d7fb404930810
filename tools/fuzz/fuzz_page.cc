// T2: pages of every type. Input: one byte that chooses a form, then
//   0 node: lower fence, upper fence and a key (a length byte each, then the bytes), a page. The
//     node is read in every way. If Check finds it sound, it is also changed and must stay sound
//   1 tree: pages 0, 1, ... of a tree whose root is page 0; walked, searched and scanned
//   2 chain: a reference, then the pages 0, 1, ... to which it leads
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/btree/node.h"
#include "engine/btree/tree.h"
#include "engine/overflow.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/testing/map_page_store.h"
#include "tools/fuzz/fuzz_input.h"
#include "tools/fuzz/fuzz_target.h"

namespace latchkey {

const char* const kFuzzTarget = "page";
uint64_t fuzz_accepted = 0;

namespace {

constexpr uint32_t kPage = 4096;
constexpr uint32_t kMostPages = 16;
enum Form : uint8_t { kNode, kTree, kChain, kForms };

// ---- One node.

void ReadNode(const LatchedNodeView& node, std::string_view key) {
  std::string bytes;
  const SlotPosition position = node.LowerBound(key);
  LATCHKEY_CHECK(position.slot <= node.count());
  if (!node.is_leaf()) LATCHKEY_CHECK(node.ChildSlotFor(key) <= node.count());
  for (uint32_t slot = 0; slot <= node.count() + 1; ++slot) {
    bytes.clear();
    node.AppendKey(slot, &bytes);
    LATCHKEY_CHECK(bytes.size() <= kMaxNodeKeySize);
    node.CompareKey(slot, key);
    if (node.is_leaf()) {
      node.CopyValue(slot, &bytes);
      LATCHKEY_CHECK(bytes.size() <= kPage && node.Value(slot).size() <= kPage);
    } else {
      node.Child(slot);
    }
    node.flags(slot);
  }
  node.UsedBytes();
  node.HasRoomFor(key, 10);
  node.HasRoomForAnySeparator();
}

bool Covers(const Fences& fences, std::string_view key) {
  return key >= fences.lower && (!fences.upper || key < *fences.upper);
}

void CheckStill(const LatchedNodeView& node, const Fences& fences) {
  const absl::Status sound = node.Check(fences);
  LATCHKEY_CHECK(sound.ok());
}

void SplitNode(NodeEditor node, const Fences& fences, std::string_view key, size_t value_size) {
  AlignedBuffer memory(kPage);
  NodeEditor right(memory.data(), kPage);
  std::string separator;
  node.SplitInto(right, fences, {.key = key, .value_size = value_size}, &separator);
  CheckStill(node, {.lower = fences.lower, .upper = separator});
  CheckStill(right, {.lower = separator, .upper = fences.upper});
}

/// Operations that a sound leaf must survive.
void ChangeLeaf(NodeEditor leaf, const Fences& fences, std::string_view key) {
  if (!Covers(fences, key)) return;
  const std::string value(key.size() % 64, 'v');
  const SlotPosition position = leaf.LowerBound(key);
  const bool done = position.exact ? leaf.ReplaceValue(position.slot, value, 0)
                                   : leaf.Insert(position.slot, key, value, 0);
  CheckStill(leaf, fences);
  if (!done && leaf.count() > 0) return SplitNode(leaf, fences, key, value.size());
  if (leaf.count() > 1) leaf.Remove(leaf.count() / 2);
  CheckStill(leaf, fences);
  leaf.Compact();
  CheckStill(leaf, fences);
  if (leaf.count() > 1) SplitNode(leaf, fences, key, value.size());
}

std::string TakeKey(FuzzInput& input) {
  const auto size = input.Take<uint8_t>();
  return std::string(input.TakeBytes(size));
}

void RunNode(FuzzInput& input) {
  const std::string lower = TakeKey(input), upper = TakeKey(input), key = TakeKey(input);
  Fences fences{.lower = lower};
  if (!upper.empty()) fences.upper = upper;
  AlignedBuffer page(kPage);
  input.Fill(page.span());
  const LatchedNodeView node(page.data(), kPage);
  ReadNode(node, key);
  if (fences.upper && *fences.upper <= fences.lower) return;
  if (!node.Check(fences).ok()) return;
  ++fuzz_accepted;
  if (node.is_leaf()) ChangeLeaf(NodeEditor(page.data(), kPage), fences, key);
}

// ---- Several pages, in a store.

class Pages {
 public:
  Pages() : store_(ThreadRuntime(), kPage) {
    auto pool = BufferPool::Create(ThreadRuntime(), store_, MakePlainFixPolicy(ThreadRuntime(), 64),
                                   64, 64);
    LATCHKEY_CHECK(pool.ok());
    pool_ = *std::move(pool);
  }
  void Load(FuzzInput& input) {
    auto writer = store_.NewWriter(1);
    AlignedBuffer page(kPage);
    for (uint32_t i = 0; i < kMostPages && !input.empty(); ++i) {
      input.Fill(page.span());
      const PageWrite write{.id = *store_.AllocatePage(), .data = page.data()};
      size_t accepted = 0;
      LATCHKEY_CHECK((*writer)->Submit({&write, 1}, &accepted).ok());
    }
  }
  std::string Bytes() {
    std::string bytes;
    AlignedBuffer page(kPage);
    LATCHKEY_CHECK(pool_->WriteAllDirty().ok());
    for (uint64_t id = 0; id < store_.page_id_limit(); ++id) {
      LATCHKEY_CHECK(store_.ReadPage(PageId{id}, page.data()).ok());
      bytes.append(reinterpret_cast<const char*>(page.data()), kPage);
    }
    return bytes;
  }
  BufferPool& pool() { return *pool_; }
  PageStore& store() { return store_; }

 private:
  MapPageStore store_;
  std::unique_ptr<BufferPool> pool_;
};

/// Each page at most once, as a database requires.
class Visits {
 public:
  explicit Visits(Pages& pages) : pages_(pages) {}
  absl::Status operator()(PageId page) const {
    if (Raw(page) < pages_.store().page_id_limit() && seen_.insert(Raw(page)).second) {
      return absl::OkStatus();
    }
    return absl::DataLossError("used twice, or no page");
  }

 private:
  Pages& pages_;
  mutable std::set<uint64_t> seen_;
};

void RunTree(FuzzInput& input) {
  const std::string key = TakeKey(input);
  Pages pages;
  pages.Load(input);
  BTree tree(pages.pool(), PageId{0});
  OverflowStore overflow(pages.pool());
  const Visits visits(pages);
  const absl::Status sound = tree.Check(
      visits, [&](std::string_view reference) { return overflow.VisitPages(reference, visits); });
  PoolActor& actor = pages.pool().Here();
  OptimisticGuard leaf;
  if (tree.FindLeaf(actor, key, &leaf).ok()) {
    ReadNode(LatchedNodeView(leaf.data(), kPage), key);
  } else {
    LATCHKEY_CHECK(!sound.ok());
  }
  MissingPages missing;
  for (const std::string_view wanted : {std::string_view(key), std::string_view(), {"zz", 2}}) {
    tree.FindMissing(actor, wanted, &missing);
  }
  pages.pool().Prefetch(actor, missing.inner);
  pages.pool().Prefetch(actor, missing.leaves);
  AlignedBuffer copy(kPage);
  OwnedFences fences;
  for (const auto kind :
       {LeafTarget::Kind::kCovering, LeafTarget::Kind::kBelow, LeafTarget::Kind::kLast}) {
    tree.CopyLeaf(actor, {.kind = kind, .key = key}, 4, copy.data(), &fences, &leaf).IgnoreError();
  }
  fuzz_accepted += sound.ok();
}

void RunChain(FuzzInput& input) {
  const std::string reference(input.TakeBytes(kOverflowReferenceSize));
  Pages pages;
  pages.Load(input);
  OverflowStore overflow(pages.pool());
  std::string value;
  const absl::Status read = overflow.Read(reference, &value);
  const Visits visits(pages);
  overflow.VisitPages(reference, visits).IgnoreError();
  fuzz_accepted += read.ok();
}

// ---- Seeds.

std::string Prefixed(std::string_view key) {
  return static_cast<char>(key.size()) + std::string(key);
}

std::string LeafSeed(int records, std::string_view prefix, std::string_view upper) {
  AlignedBuffer page(kPage);
  NodeEditor leaf(page.data(), kPage);
  Fences fences{.lower = prefix};
  if (!upper.empty()) fences.upper = upper;
  leaf.Init(0, fences);
  for (int i = 0; i < records; ++i) {
    const std::string key = std::string(prefix) + std::to_string(i * 7919 % 1000);
    const SlotPosition position = leaf.LowerBound(key);
    if (!position.exact) leaf.Insert(position.slot, key, std::string(i % 40, 'v'), i % 9 == 0);
  }
  return static_cast<char>(kNode) + Prefixed(prefix) + Prefixed(upper) +
         Prefixed(std::string(prefix) + "5") +
         std::string(reinterpret_cast<const char*>(page.data()), kPage);
}

std::string TreeSeed(int records) {
  Pages pages;
  const auto root = BTree::Create(pages.pool());
  LATCHKEY_CHECK(root.ok());
  BTree tree(pages.pool(), *root);
  OverflowStore overflow(pages.pool());
  PoolActor& actor = pages.pool().Here();
  for (int i = 0; i < records; ++i) {
    const std::string key = "key" + std::to_string(i * 7919 % 10'000);
    const bool large = i == 3;
    std::string value(150, 'v');
    if (large) value = overflow.Write(std::string(9000, 'w'))->view();
    for (;;) {
      ExclusiveGuard leaf;
      LATCHKEY_CHECK(tree.FixLeaf(actor, key, &leaf).ok());
      NodeEditor node(leaf.Mutable(), kPage);
      const SlotPosition position = node.LowerBound(key);
      if (position.exact || node.Insert(position.slot, key, value, large ? kOverflow : 0)) break;
      leaf.Unfix();
      LATCHKEY_CHECK(tree.Split(actor, {.key = key, .value_size = value.size()}).ok());
    }
  }
  return static_cast<char>(kTree) + Prefixed("key5") + pages.Bytes();
}

std::string ChainSeed(size_t size) {
  Pages pages;
  OverflowStore overflow(pages.pool());
  const auto reference = overflow.Write(std::string(size, 'v'));
  LATCHKEY_CHECK(reference.ok());
  return static_cast<char>(kChain) + std::string(reference->view()) + pages.Bytes();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {LeafSeed(0, "", ""),
          LeafSeed(60, "", ""),
          LeafSeed(40, "prefix/", "prefix0"),
          LeafSeed(25, "ab", "abz"),
          TreeSeed(4),
          TreeSeed(120),
          ChainSeed(0),
          ChainSeed(3000),
          ChainSeed(30'000)};
}

}  // namespace latchkey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  latchkey::FuzzInput input(data, size);
  switch (input.Take<uint8_t>() % latchkey::kForms) {
    case latchkey::kNode:
      latchkey::RunNode(input);
      break;
    case latchkey::kTree:
      latchkey::RunTree(input);
      break;
    default:
      latchkey::RunChain(input);
      break;
  }
  return 0;
}
