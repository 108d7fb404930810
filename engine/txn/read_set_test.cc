#include "engine/txn/read_set.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/version_table.h"
#include "storage/base/rng.h"

namespace latchkey::read_set_test {
namespace {

constexpr TreeId kTree{1}, kOther{2};

bool Covers(const ReadSet& reads, TreeId tree, const std::string& key) {
  return reads.Covers(tree, key, VersionTable::HashOf(tree, key));
}
void AddKey(ReadSet& reads, TreeId tree, const std::string& key) {
  reads.AddKey(tree, VersionTable::HashOf(tree, key));
}

TEST_CASE("a read set covers the keys and ranges that were added, in their own trees") {
  ReadSet reads;
  CHECK(reads.empty());
  AddKey(reads, kTree, "k");
  reads.AddRange(kTree, "b", "d");
  reads.AddRange(kTree, "x", std::nullopt);
  reads.Prepare();
  for (const char* key : {"k", "b", "c", "czz", "x", "zz"}) CHECK(Covers(reads, kTree, key));
  for (const char* key : {"", "a", "d", "j", "kk", "w"}) CHECK_FALSE(Covers(reads, kTree, key));
  for (const char* key : {"k", "c", "x"}) CHECK_FALSE(Covers(reads, kOther, key));
  reads.Clear();
  reads.Prepare();
  CHECK_FALSE(Covers(reads, kTree, "k"));
}

TEST_CASE("a range grows at both ends and never shrinks") {
  ReadSet reads;
  const ReadSet::RangeId id = reads.AddRange(kTree, "m", KeyAfter("m"));
  reads.ExtendUp(id, KeyAfter("p"));
  reads.ExtendUp(id, KeyAfter("n"));
  reads.ExtendDown(id, "g");
  reads.ExtendDown(id, "h");
  ReadSet grown = reads;
  grown.Prepare();
  for (const char* key : {"g", "h", "m", "p"}) CHECK(Covers(grown, kTree, key));
  for (const char* key : {"f", "p ", "q"}) CHECK_FALSE(Covers(grown, kTree, key));
  reads.ExtendUp(id, std::nullopt);
  reads.ExtendUp(id, "q");
  reads.Prepare();
  CHECK(Covers(reads, kTree, "zzz"));
}

TEST_CASE("a coarsened read set covers its trees completely and takes no memory for them") {
  ReadSet reads;
  for (int i = 0; i < 10'000; ++i) AddKey(reads, kTree, std::to_string(i));
  const ReadSet::RangeId id = reads.AddRange(kTree, "a", "b");
  CHECK(reads.bytes() >= 80'000);
  reads.Coarsen();
  CHECK(reads.bytes() == 0);
  reads.ExtendUp(id, "c");
  AddKey(reads, kTree, "again");
  reads.AddRange(kTree, "", std::nullopt);
  CHECK(reads.bytes() == 0);
  AddKey(reads, kOther, "k");
  reads.Prepare();
  CHECK(Covers(reads, kTree, "never read"));
  CHECK(Covers(reads, kOther, "k"));
  CHECK_FALSE(Covers(reads, kOther, "never read"));
}

TEST_CASE("keys that are read again and again take no more memory") {
  ReadSet reads;
  for (int i = 0; i < 100'000; ++i) AddKey(reads, kTree, std::to_string(i % 10));
  CHECK(reads.bytes() <= 1024);
  reads.Prepare();
  for (int i = 0; i < 10; ++i) CHECK(Covers(reads, kTree, std::to_string(i)));
}

TEST_CASE("a read set answers as a list of ranges would, whatever overlaps") {
  const uint64_t seed = GENERATE(range(1, 40));
  CAPTURE(seed);
  Rng rng(seed);
  struct Range {
    TreeId tree;
    std::string low;
    std::optional<std::string> high;
  };
  const auto random_key = [&] {
    std::string key(rng.Below(3), '\0');
    for (char& c : key) c = static_cast<char>('a' + rng.Below(5));
    return key;
  };
  ReadSet reads;
  std::vector<Range> model;
  for (uint64_t i = 0; i < 1 + seed % 12; ++i) {
    Range range{.tree = TreeId{static_cast<uint32_t>(rng.Below(2))},
                .low = random_key(),
                .high = std::nullopt};
    if (rng.Below(8) != 0) range.high = random_key();
    const ReadSet::RangeId id =
        reads.AddRange(range.tree, range.low,
                       range.high ? std::optional<std::string_view>(*range.high) : std::nullopt);
    const bool is_empty = range.high && *range.high <= range.low;
    if (!is_empty && range.high && rng.Below(2) == 0) {
      const std::string low = random_key(), high = random_key();
      reads.ExtendDown(id, low);
      reads.ExtendUp(id, high);
      range.low = std::min(range.low, low);
      range.high = std::max(*range.high, high);
    }
    model.push_back(range);
  }
  reads.Prepare();
  for (int i = 0; i < 200; ++i) {
    const std::string key = random_key();
    const TreeId tree{static_cast<uint32_t>(rng.Below(3))};
    const bool expected = std::any_of(model.begin(), model.end(), [&](const Range& range) {
      return range.tree == tree && range.low <= key && (!range.high || key < *range.high);
    });
    CHECK(Covers(reads, tree, key) == expected);
  }
}

}  // namespace
}  // namespace latchkey::read_set_test
