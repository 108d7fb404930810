// The page's bytes, written out: a change of the format changes this file.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "engine/btree/node.h"
#include "engine/btree/testing/node_test_util.h"

namespace latchkey::node_format_test {
namespace {

using namespace node_testing;  // NOLINT(build/namespaces)

std::vector<int> Bytes(PageBuffer& buffer, uint32_t begin, uint32_t end) {
  std::vector<int> bytes;
  for (uint32_t i = begin; i < end; ++i) bytes.push_back(std::to_integer<int>(buffer.bytes()[i]));
  return bytes;
}

TEST_CASE("a leaf has exactly the bytes of its format") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(0, {.lower = "ab", .upper = "ac"});
  node.set_last_writer(TxnId{0x0102});
  node.set_page_flags(7);
  REQUIRE(node.Insert(0, "abcdefgh", "xyz", 0));
  REQUIRE(node.Insert(1, "abq", "", kGhost));

  // Records: {3, "fgh", "xyz"} at 4087 and {0} at 4085; the prefix "a" at 4095.
  CHECK(buffer.bytes()[28] == std::byte{1});
  CHECK(Bytes(buffer, 32, 80) ==
        std::vector<int>{
            2,   1,   0,   0,   0,   0,  0,  0,     // last writer
            0,   0,   0,   0,   0,   0,  0,  0,     // rightmost child
            2,   0,   1,   0,   1,   0,  11, 0,     // count, prefixes, heap size
            0,   0,   1,   0,   0,   7,  1,  0,     // fragmented, last insert, level, ...
            'e', 'd', 'c', 'b', 247, 15, 7,  0,     // slot 0: head, offset 4087, length 7
            0,   0,   'q', 'b', 245, 15, 2,  16});  // slot 1: offset 4085, length 2, ghost
  CHECK(Bytes(buffer, 4085, 4096) ==
        std::vector<int>{0, 0, 3, 0, 'f', 'g', 'h', 'x', 'y', 'z', 'a'});
  RequireValid(node, {.lower = "ab", .upper = "ac"});
}

TEST_CASE("an inner page has exactly the bytes of its format") {
  PageBuffer buffer(kMinPageSize);
  NodeEditor node = buffer.editor();
  node.Init(2, {});
  node.SetRightmost(PageId{5});
  REQUIRE(node.InsertSeparator(0, "mn", PageId{5}, PageId{0x0607}));

  CHECK(buffer.bytes()[28] == std::byte{2});
  CHECK(Bytes(buffer, 40, 72) == std::vector<int>{7, 6, 0, 0, 0,   0,  0,  0,    // rightmost child
                                                  1, 0, 2, 0, 0,   0,  10, 0,    // count, prefixes
                                                  0, 0, 0, 0, 2,   0,  0,  0,    // level 2
                                                  0, 0, 0, 0, 246, 15, 0,  0});  // slot 0 at 4086
  CHECK(Bytes(buffer, 4086, 4096) == std::vector<int>{5, 0, 0, 0, 0, 0, 0, 0, 'm', 'n'});
}

}  // namespace
}  // namespace latchkey::node_format_test
