// The order of spilled versions, against a plain sort.
#include "engine/txn/version_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::version_order_test {
namespace {

struct NamedVersion {
  uint32_t tree;
  std::string key;
  CommitTs ts;
};

// Describes `versions`, in their order. They must outlive the result.
std::vector<SettlingVersion> Describe(const std::vector<NamedVersion>& versions) {
  std::vector<SettlingVersion> described;
  for (const NamedVersion& version : versions) {
    described.push_back(
        {.tree = TreeId{version.tree}, .ts = version.ts, .key = version.key, .old = {}});
  }
  return described;
}

// No version of a key has the timestamp of another one, so there is one right order.
void CheckOrder(const std::vector<NamedVersion>& named) {
  const std::vector<SettlingVersion> versions = Describe(named);
  const std::vector<uint32_t> order = OrderOf(versions);
  REQUIRE(order.size() == versions.size());
  std::vector<SettlingVersion> expected = versions;
  std::sort(expected.begin(), expected.end(), IsBefore);
  for (size_t i = 0; i < order.size(); ++i) {
    const SettlingVersion& version = versions[order[i]];
    CAPTURE(i, Raw(version.tree), version.key, version.ts);
    REQUIRE(version.tree == expected[i].tree);
    REQUIRE(version.key == expected[i].key);
    REQUIRE(version.ts == expected[i].ts);
  }
}

std::string RandomKey(Rng& rng, uint64_t kind) {
  const uint64_t number = rng.Below(500);
  if (kind == 0) return fmt::format("warehouse {:06}, district {:04}", number / 10, number % 10);
  if (kind == 1) return std::string(number % 40, '\0') + std::string(number % 3, 'x');
  if (kind == 2) return std::string(60, 'p') + std::to_string(number);
  std::string key(rng.Below(48), ' ');  // any bytes, any length
  for (char& byte : key) byte = static_cast<char>(rng.Below(256));
  return key;
}

TEST_CASE("versions are ordered by tree and key, and those of a key newest first") {
  const uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
  const size_t count = GENERATE(0, 1, 100, 5000);
  CAPTURE(seed, count);
  Rng rng(seed);
  std::vector<NamedVersion> versions;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t kind = rng.Below(4);
    const auto tree = static_cast<uint32_t>(kind + 4 * rng.Below(100));
    versions.push_back({tree, RandomKey(rng, kind), i + 1});
  }
  CheckOrder(versions);
}

TEST_CASE("keys that differ only far behind their beginning are ordered by the difference") {
  std::vector<NamedVersion> versions;
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::string early = i % 2 == 0 ? "a" : "b";
    versions.push_back({1, early + std::string(80, '-') + std::to_string(i * 7919 % 1000), i + 1});
  }
  CheckOrder(versions);
}

TEST_CASE("a key that ends where another one has a zero byte comes first") {
  std::vector<NamedVersion> versions;
  for (uint32_t i = 0; i < 600; ++i) {
    versions.push_back({1, "k" + std::string(i % 6, '\0'), i + 1});
  }
  CheckOrder(versions);
}

}  // namespace
}  // namespace latchkey::version_order_test
