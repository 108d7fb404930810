// Inner pages: children stay with their separators.
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "engine/btree/node.h"
#include "engine/btree/testing/node_test_util.h"

namespace latchkey::node_inner_test {
namespace {

using namespace node_testing;  // NOLINT(build/namespaces)

/// Separator -> the child right of it; "" -> the first child.
using Inner = std::map<std::string, PageId>;

Inner InnerContents(const NodeEditor& node, const std::string& lower) {
  Inner inner;
  inner[lower] = node.Child(0);
  for (uint32_t i = 0; i < node.count(); ++i) {
    std::string separator;
    REQUIRE(node.AppendKey(i, &separator));
    inner[separator] = node.Child(i + 1);
  }
  REQUIRE(inner.size() == node.count() + 1);
  return inner;
}

/// A row of inner pages, in which children split at random separators.
class InnerLevel {
 public:
  explicit InnerLevel(uint32_t page_size) : page_size_(page_size) {
    PageBuffer buffer(page_size);
    buffer.editor().Init(1, {});
    buffer.editor().SetRightmost(PageId{0});
    pages_.emplace("", std::move(buffer));
    model_[""] = PageId{0};
  }

  void SplitChild(const std::string& separator, PageId right) {
    if (separator.empty() || model_.contains(separator)) return;
    if (!TrySplitChild(separator, right)) {
      SplitPage(separator);
      REQUIRE(TrySplitChild(separator, right));
    }
    model_[separator] = right;
  }

  void MergeChildren(Rng& rng) {
    auto page = pages_.begin();
    std::advance(page, static_cast<ptrdiff_t>(rng.Below(pages_.size())));
    NodeEditor node = page->second.editor();
    if (node.count() == 0) return;
    const auto slot = static_cast<uint32_t>(rng.Below(node.count()));
    std::string separator;
    REQUIRE(node.AppendKey(slot, &separator));
    node.RemoveSeparator(slot);
    model_.erase(separator);
    RequireValid(node, FencesOf(page));
  }

  /// Gives two neighbouring children another separator, if the page has room for it.
  void MoveSeparator(Rng& rng) {
    auto page = pages_.begin();
    std::advance(page, static_cast<ptrdiff_t>(rng.Below(pages_.size())));
    NodeEditor node = page->second.editor();
    if (node.count() == 0) return;
    const auto slot = static_cast<uint32_t>(rng.Below(node.count()));
    std::string old;
    REQUIRE(node.AppendKey(slot, &old));
    const std::string separator = old + RandomBytes(rng, rng.Below(9));
    const auto entry = model_.find(old);
    const auto behind = std::next(entry);
    if (separator.size() > kMaxNodeKeySize ||
        (behind != model_.end() && separator >= behind->first)) {
      return;
    }
    if (!node.CanReplaceSeparator(slot, separator)) return;
    const PageId child = entry->second;
    node.ReplaceSeparator(slot, separator);
    model_.erase(entry);
    model_[separator] = child;
    RequireValid(node, FencesOf(page));
  }

  void MergePages(Rng& rng) {
    if (pages_.size() < 2) return;
    auto left = pages_.begin();
    std::advance(left, static_cast<ptrdiff_t>(rng.Below(pages_.size() - 1)));
    const auto right = std::next(left);
    const Fences fences = {.lower = left->first, .upper = FencesOf(right).upper};
    NodeEditor node = left->second.editor();
    const bool fits = node.CanMergeWith(right->second.editor(), right->first, fences);
    REQUIRE(node.MergeFrom(right->second.editor(), right->first, fences) == fits);
    if (fits) pages_.erase(right);
    RequireValid(node, FencesOf(left));
  }

  void Verify(Rng& rng) {
    Inner all;
    for (auto i = pages_.begin(); i != pages_.end(); ++i) {
      RequireValid(i->second.editor(), FencesOf(i));
      all.merge(InnerContents(i->second.editor(), i->first));
    }
    REQUIRE(all == model_);
    for (int i = 0; i < 100; ++i) {
      VerifyDescent(MakeKey(AllKeyShapes()[rng.Below(7)], rng.Below(100'000), rng));
    }
    for (const auto& [separator, child] : model_) VerifyDescent(separator);
  }
  size_t size() const { return pages_.size(); }

 private:
  using Pages = std::map<std::string, PageBuffer>;

  Fences FencesOf(Pages::iterator page) {
    Fences fences = {.lower = page->first};
    if (std::next(page) != pages_.end()) fences.upper = std::next(page)->first;
    return fences;
  }
  Pages::iterator PageFor(const std::string& key) { return std::prev(pages_.upper_bound(key)); }

  void VerifyDescent(const std::string& key) {
    const NodeEditor node = PageFor(key)->second.editor();
    REQUIRE(node.Child(node.ChildSlotFor(key)) == std::prev(model_.upper_bound(key))->second);
    VerifyProofs(node, key, node.ChildSlotFor(key));
    for (auto& [lower, other] : pages_) {
      if (&other != &PageFor(key)->second) VerifyProofs(other.editor(), key, UINT32_MAX);
    }
  }
  // `covering`: the child slot of `node` that covers `key`, UINT32_MAX if none does.
  static void VerifyProofs(const NodeEditor& node, const std::string& key, uint32_t covering) {
    bool as_expected = true;
    for (uint32_t slot = 0; slot <= node.count() + 1; ++slot) {
      const bool provable = slot > 0 && slot < node.count();
      as_expected &= node.ProvesChild(slot, key) == (provable && slot == covering);
    }
    REQUIRE(as_expected);
  }
  bool TrySplitChild(const std::string& separator, PageId right) {
    NodeEditor node = PageFor(separator)->second.editor();
    const uint32_t slot = node.ChildSlotFor(separator);
    const bool surely = node.HasRoomForAnySeparator();
    const bool room = node.HasRoomFor(separator, 0);
    const bool done = node.InsertSeparator(slot, separator, node.Child(slot), right);
    REQUIRE(done == room);
    REQUIRE((done || !surely));
    return done;
  }
  void SplitPage(const std::string& incoming) {
    const auto left = PageFor(incoming);
    PageBuffer right(page_size_);
    std::string separator;
    left->second.editor().SplitInto(right.editor(), FencesOf(left),
                                    {.key = incoming, .value_size = 0}, &separator);
    pages_.emplace(separator, std::move(right));
    RequireValid(left->second.editor(), FencesOf(left));
  }

  uint32_t page_size_;
  Pages pages_;
  Inner model_;
};

TEST_CASE("inner pages keep every separator and child, for every shape of keys and page size") {
  for (uint32_t page_size = kMinPageSize; page_size <= kLargestSwept; page_size *= 4) {
    for (const KeyShape shape : AllKeyShapes()) {
      CAPTURE(page_size, static_cast<int>(shape));
      Rng rng(page_size * 13 + static_cast<uint64_t>(shape));
      InnerLevel level(page_size);
      const uint64_t children = (700 + page_size / 16) / kSweepShorter;
      for (uint64_t i = 1; i < children; ++i) {
        level.SplitChild(MakeKey(shape, i, rng), PageId{i});
        if (i % 16 == 0) level.MergeChildren(rng);
        if (i % 4 == 0) level.MoveSeparator(rng);
        if (i % 100 == 0) level.MergePages(rng);
      }
      level.Verify(rng);
    }
  }
}

TEST_CASE("a separator without the common prefix shortens it") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(1, {});
  node.SetRightmost(PageId{1});
  REQUIRE(node.InsertSeparator(0, "prefix/b", PageId{1}, PageId{2}));
  REQUIRE(node.InsertSeparator(1, "prefix/d", PageId{2}, PageId{3}));
  CHECK(node.Prefix() == "prefix/");
  CHECK(node.Child(node.ChildSlotFor("a")) == PageId{1});
  CHECK(node.Child(node.ChildSlotFor("prefix")) == PageId{1});
  CHECK(node.Child(node.ChildSlotFor("prefix/c")) == PageId{2});
  CHECK(node.Child(node.ChildSlotFor("z")) == PageId{3});
  REQUIRE(node.InsertSeparator(2, "prune", PageId{3}, PageId{4}));
  CHECK(node.Prefix() == "pr");
  CHECK(node.Child(node.ChildSlotFor("prefix/d")) == PageId{3});
  CHECK(node.Child(node.ChildSlotFor("prune")) == PageId{4});
  CHECK(node.Child(4) == kInvalidPageId);
  RequireValid(node, {});
}

TEST_CASE("ascending separators leave full inner pages behind") {
  InnerLevel level(kMinPageSize);
  for (uint64_t i = 1; i < 5000; ++i) level.SplitChild(BigEndian(i), PageId{i});
  // 4032 bytes hold 252 separators of 16 bytes.
  CHECK(level.size() <= 5000 / 240 + 1);
}

}  // namespace
}  // namespace latchkey::node_inner_test
