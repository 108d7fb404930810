// One leaf against an ordered map.
#include "engine/btree/node.h"

#include <catch2/catch.hpp>
#include <string>

#include "engine/btree/testing/node_test_util.h"

namespace latchkey::node_test {
namespace {

using namespace node_testing;  // NOLINT(build/namespaces)

/// Does random operations on a page and a map alike.
class LeafModel {
 public:
  LeafModel(uint32_t page_size, KeyShape shape, uint64_t seed)
      : buffer_(page_size), node_(buffer_.editor()), shape_(shape), rng_(seed) {
    node_.Init(0, {});
  }

  void Step(uint64_t i) {
    const std::string key =
        model_.empty() || rng_.Below(2) == 0 ? MakeKey(shape_, i, rng_) : SomeKey();
    const SlotPosition position = node_.LowerBound(key);
    REQUIRE(position.exact == model_.contains(key));
    if (i % 16 == 0) {
      REQUIRE(position.slot == std::distance(model_.begin(), model_.lower_bound(key)));
    }
    if (!position.exact) {
      Insert(position.slot, key);
    } else if (rng_.Below(3) == 0) {
      node_.Remove(position.slot);
      model_.erase(key);
    } else if (rng_.Below(4) == 0) {
      node_.SetFlags(position.slot, kGhost);
      model_[key].flags = kGhost;
    } else {
      Replace(position.slot, key);
    }
  }
  void Verify() const { RequireSame(node_, model_, {}); }
  uint32_t rejected() const { return rejected_; }

 private:
  std::string SomeKey() {
    auto i = model_.begin();
    std::advance(i, static_cast<ptrdiff_t>(rng_.Below(model_.size())));
    return i->first;
  }
  void Insert(uint32_t slot, const std::string& key) {
    const Record record = {MakeValue(rng_, node_.page_size(), key.size()), 0};
    const bool room = node_.HasRoomFor(key, record.value.size());
    const uint32_t free = node_.FreeBytes();
    REQUIRE(node_.Insert(slot, key, record.value, record.flags) == room);
    if (room) {
      REQUIRE(node_.FreeBytes() < free);
      model_[key] = record;
    } else {
      REQUIRE(node_.FreeBytes() == free);
      ++rejected_;
    }
  }
  void Replace(uint32_t slot, const std::string& key) {
    const std::string value = MakeValue(rng_, node_.page_size(), key.size());
    const size_t old_size = model_[key].value.size();
    const bool room = value.size() <= old_size + node_.FreeBytes();
    REQUIRE(node_.ReplaceValue(slot, value, 0) == room);
    if (room) model_[key] = {value, 0};
  }

  PageBuffer buffer_;
  NodeEditor node_;
  KeyShape shape_;
  Rng rng_;
  Leaf model_;
  uint32_t rejected_ = 0;
};

TEST_CASE("a leaf behaves as an ordered map for every shape of keys and every page size") {
  for (uint32_t page_size = kMinPageSize; page_size <= kLargestSwept; page_size *= 2) {
    for (const KeyShape shape : AllKeyShapes()) {
      CAPTURE(page_size, static_cast<int>(shape));
      LeafModel model(page_size, shape, page_size + static_cast<uint64_t>(shape));
      const uint64_t steps = 512 + page_size / 8;
      for (uint64_t i = 0; i < steps; ++i) {
        model.Step(i);
        if (i % (steps / 4) == 0) model.Verify();
      }
      model.Verify();
    }
  }
}

TEST_CASE("a full leaf refuses a record and stays as it is") {
  LeafModel model(kMinPageSize, KeyShape::kUniform, 1);
  for (uint64_t i = 0; i < 5000; ++i) model.Step(i);
  model.Verify();
  CHECK(model.rejected() > 100);
}

TEST_CASE("an empty leaf has no record and no key but all its bytes") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  CHECK(node.count() == 0);
  CHECK(node.is_leaf());
  CHECK(node.type() == PageType::kTreeLeaf);
  CHECK(node.LowerBound("").slot == 0);
  CHECK_FALSE(node.LowerBound("key").exact);
  CHECK(node.UsedBytes() == 0);
  CHECK(node.FreeBytes() == node_format::Capacity(kMinPageSize));
  RequireValid(node, {});
}

TEST_CASE("a new page leaves nothing of the frame's earlier use, and keeps the header's identity") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {.lower = "aaa1", .upper = "aaa2"});
  CHECK(std::to_integer<int>(buffer.bytes()[0]) == 0xa5);
  for (uint32_t i = node_format::kSlots; i < kMinPageSize - 3; ++i) {
    REQUIRE(std::to_integer<int>(buffer.bytes()[i]) == 0);
  }
  CHECK(node.Prefix() == "aaa");
}

TEST_CASE("the bytes that all keys share are stored once") {
  const Fences fences = {.lower = "district/0007/order/1", .upper = "district/0007/order/2"};
  PageBuffer with_prefix(kMinPageSize);
  PageBuffer without(kMinPageSize);
  with_prefix.editor().Init(0, fences);
  without.editor().Init(0, {});
  Leaf model;
  for (uint64_t i = 0; i < 40; ++i) {
    const std::string key = "district/0007/order/1" + BigEndian(i * 7);
    model[key] = {"value", 0};
    NodeEditor a = with_prefix.editor();
    NodeEditor b = without.editor();
    REQUIRE(a.Insert(a.LowerBound(key).slot, key, "value", 0));
    REQUIRE(b.Insert(b.LowerBound(key).slot, key, "value", 0));
  }
  RequireSame(with_prefix.editor(), model, fences);
  RequireSame(without.editor(), model, {});
  CHECK(with_prefix.editor().UsedBytes() + 39 * 20 == without.editor().UsedBytes());
}

TEST_CASE("keys that differ in zero bytes at their end are told apart") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  Leaf model;
  for (size_t length = 0; length <= 12; ++length) {
    const std::string key(length, '\0');
    const SlotPosition position = node.LowerBound(key);
    REQUIRE_FALSE(position.exact);
    REQUIRE(position.slot == length);
    REQUIRE(node.Insert(position.slot, key, key, 0));
    model[key] = {key, 0};
  }
  RequireSame(node, model, {});
}

TEST_CASE("ghosts are skipped in both directions, up to the end of the range") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  for (uint32_t slot = 0; slot < 6; ++slot) {
    REQUIRE(node.Insert(slot, std::string(1, static_cast<char>('a' + slot)), "v", 0));
  }
  for (const uint32_t slot : {1, 2, 4, 5}) node.SetFlags(slot, kGhost);
  CHECK(node.SkipGhosts(0, 6, 1) == 0);
  CHECK(node.SkipGhosts(1, 6, 1) == 3);
  CHECK(node.SkipGhosts(1, 2, 1) == 2);
  CHECK(node.SkipGhosts(4, 6, 1) == 6);
  CHECK(node.SkipGhosts(5, -1, -1) == 3);
  CHECK(node.SkipGhosts(2, -1, -1) == 0);
  CHECK(node.SkipGhosts(2, 0, -1) == 0);
  CHECK(node.SkipGhosts(6, 6, 1) == 6);
}

TEST_CASE("a record keeps flags and value apart from its neighbours") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  REQUIRE(node.Insert(0, "a", "1", 0));
  REQUIRE(node.Insert(1, "b", std::string(kOverflowReferenceSize, 'r'), kOverflow));
  REQUIRE(node.Insert(2, "c", "3", 0));
  node.SetFlags(0, kGhost);
  CHECK(node.is_ghost(0));
  CHECK(node.flags(1) == kOverflow);
  CHECK(node.flags(2) == 0);
  uint64_t reference[2];
  CHECK(node.CopyValueExactly(1, reference, sizeof(reference)));
  CHECK_FALSE(node.CopyValueExactly(0, reference, sizeof(reference)));
  CHECK(node.CompareKey(1, "a") > 0);
  CHECK(node.CompareKey(1, "bb") < 0);
  CHECK_FALSE(node.CompareKey(1, "c") == 0);
}

TEST_CASE("a value changes in place when it does not grow, and its room comes back by compaction") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  const std::string large(700, 'x');
  for (uint32_t i = 0; i < 5; ++i) REQUIRE(node.Insert(i, std::string(1, 'a' + i), large, 0));
  CHECK_FALSE(node.HasRoomFor("f", large.size()));
  for (uint32_t i = 0; i < 4; ++i) REQUIRE(node.ReplaceValue(i, "small", 0));
  REQUIRE(node.ReplaceValue(4, std::string(900, 'y'), 0));
  REQUIRE(node.Insert(5, "f", std::string(900, 'z'), 0));
  CHECK(node.Value(3) == "small");
  CHECK(node.Value(4) == std::string(900, 'y'));
  CHECK(node.Value(5) == std::string(900, 'z'));
  RequireValid(node, {});
}

TEST_CASE("compaction gathers the free space and keeps records, writer and flags") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {});
  node.set_last_writer(TxnId{77});
  node.set_page_flags(5);
  Leaf model;
  for (uint32_t i = 0; i < 20; ++i) {
    const std::string key = BigEndian(i);
    REQUIRE(node.Insert(i, key, std::string(100, 'v'), 0));
    model[key] = {std::string(100, 'v'), 0};
  }
  for (uint32_t i = 0; i < 10; ++i) {
    node.Remove(i);
    model.erase(BigEndian(i * 2));
  }
  const uint32_t free = node.FreeBytes();
  node.Compact();
  CHECK(node.FreeBytes() == free);
  CHECK(node.last_writer() == TxnId{77});
  CHECK(node.page_flags() == 5);
  RequireSame(node, model, {});
}

TEST_CASE("two records of the largest size always fit, with overflow taking what is larger") {
  for (uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
    for (const size_t key_size : {size_t{0}, size_t{8}, size_t{500}, kMaxNodeKeySize}) {
      CAPTURE(page_size, key_size);
      const size_t value_size = MaxInlineValue(page_size, key_size);
      CHECK(value_size >= kOverflowReferenceSize);
      PageBuffer buffer(page_size);
      NodeEditor node = buffer.editor();
      node.Init(0, {});
      REQUIRE(node.Insert(0, std::string(key_size, 'k'), std::string(value_size, 'v'), 0));
      const std::string largest(kMaxNodeKeySize, 'z');
      CHECK(
          node.Insert(1, largest, std::string(MaxInlineValue(page_size, largest.size()), 'v'), 0));
      RequireValid(node, {});
    }
  }
}

}  // namespace
}  // namespace latchkey::node_test
