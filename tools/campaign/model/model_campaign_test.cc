#include "tools/campaign/model/model_campaign.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/testing/temp_dir.h"
#include "tools/campaign/model/model_configurations.h"
#include "tools/campaign/model/model_map.h"
#include "tools/campaign/model/model_operations.h"
#include "tools/campaign/model/model_run.h"
#include "tools/campaign/model/pairwise.h"
#include "tools/campaign/model/shrink.h"

namespace latchkey::model_campaign_test {
namespace {

TEST_CASE("random operation lists do in every configuration what an ordered map does") {
  TempDir dir;
  const ModelCounts counts = CheckModel(ThreadRuntime(), dir.path().string(), 100, 12'000, 400, 1);
  for (const std::string& wrong : counts.wrong) UNSCOPED_INFO(wrong);
  CHECK(counts.wrong.empty());
  CHECK(counts.operations >= 12'000);
  CHECK(counts.runs == 2 * counts.lists);
  CHECK(counts.scanned > 0);
}

TEST_CASE("a list repeats with its seed and differs with another") {
  const ModelList a = MakeModelList(3, 500), b = MakeModelList(3, 500), c = MakeModelList(10, 500);
  const auto salts = [](const ModelList& list) {
    std::vector<uint64_t> all;
    for (const ModelOperation& operation : list.operations) all.push_back(operation.salt);
    return all;
  };
  CHECK(salts(a) == salts(b));
  CHECK(salts(a) != salts(c));
}

TEST_CASE("the shapes of keys include the empty and the longest key and no key beyond it") {
  bool has_empty = false, has_longest = false;
  for (int shape = 0; shape < kKeyShapes; ++shape) {
    for (uint32_t key = 0; key < 2000; ++key) {
      const std::string text = KeyFor(static_cast<KeyShape>(shape), key);
      REQUIRE(text.size() <= Database::kMaxKeySize);
      has_empty |= text.empty();
      has_longest |= text.size() == Database::kMaxKeySize;
    }
  }
  CHECK(has_empty);
  CHECK(has_longest);
  CHECK(KeyFor(KeyShape::kDescending, 2) < KeyFor(KeyShape::kDescending, 1));
}

TEST_CASE("one list has one history, and a change of the list another") {
  TempDir dir;
  ModelConfiguration configuration;
  Options& options = configuration.options;
  options.in_memory_device = true;
  options.cache_bytes = 4 << 20;
  options.durability = Durability::kNone;
  ModelList list = MakeModelList(7, 2000);
  const ModelResult first = RunModelList(list, dir.File("a"), configuration);
  REQUIRE(first.status.ok());
  options.techniques.layout = "lfs";
  options.page_size = 16384;
  CHECK(RunModelList(list, dir.File("a"), configuration).history == first.history);
  // Only the final scan can show the additional record.
  list.operations.push_back({.kind = ModelKind::kPut, .key = 12345, .argument = 5, .salt = 1});
  CHECK(RunModelList(list, dir.File("a"), configuration).history != first.history);
}

TEST_CASE(
    "what a power loss may take back is what was not durable, and the newest commits of that") {
  TempDir dir;
  ModelConfiguration configuration;
  configuration.options.cache_bytes = 4 << 20;
  configuration.options.techniques.segment_size = 128 << 10;
  ModelList list = MakeModelList(1, 1500);
  for (size_t i = 100; i < list.operations.size(); i += 200) {
    list.operations[i].kind = ModelKind::kPowerLoss;
  }
  configuration.medium = GENERATE(ModelMedium::kPowerCut, ModelMedium::kPowerCutUntorn);
  for (const Durability durability : {Durability::kCommit, Durability::kGroup}) {
    configuration.options.durability = durability;
    const ModelResult result = RunModelList(list, dir.File("a"), configuration);
    INFO(configuration.Describe() << ": " << result.status.ToString());
    CHECK(result.status.ok());
    CHECK(result.power_losses >= 7);
    if (durability == Durability::kCommit) CHECK(result.lost_commits == 0);
  }
}

TEST_CASE("the maps go back to a commit that is not secured, and no further") {
  ModelMap map(/*keeps_commits=*/true);
  map.Put(0, "a", "1");
  map.Commit();
  const uint64_t first = map.fingerprint();
  map.Put(0, "a", "2");
  map.Put(1, "b", "2");
  map.Commit();
  const uint64_t second = map.fingerprint();
  map.Drop(0);
  map.Commit();
  map.Put(0, "c", "in flight");
  SECTION("to the one before the last") {
    CHECK(map.GoBackTo(second) == std::optional<size_t>(1));
    CHECK(map.tree(0).at("a") == "2");
    CHECK(map.tree(1).size() == 1);
  }
  SECTION("to the oldest, and never again beyond it") {
    CHECK(map.GoBackTo(first) == std::optional<size_t>(2));
    CHECK(map.tree(0).at("a") == "1");
    CHECK(map.tree(1).empty());
    CHECK_FALSE(map.GoBackTo(0));
  }
  SECTION("not behind what is secured") {
    map.ReturnTo(0);
    map.Secure();
    CHECK_FALSE(map.GoBackTo(second));
  }
}

TEST_CASE("the configurations hold every pair of option values") {
  std::vector<bool> used(ModelRows());
  for (uint64_t number = 7; number < 7 + ModelRows(); ++number) {
    used[ConfigurationOf(number).row] = true;
  }
  const ModelPairs pairs = CountModelPairs(used);
  CHECK(pairs.run == pairs.all);
  used[0] = false;
  CHECK(CountModelPairs(used).run < pairs.all);
}

TEST_CASE("pairwise rows hold every pair in few rows") {
  const std::vector<uint8_t> values = {5, 4, 4, 3, 2, 2};
  const auto any = [](const ValuePair&) { return true; };
  const auto rows = PairwiseRows(values, any, 1);
  CHECK(CountPairs(rows) == CountAllPairs(values, any));
  CHECK(rows.size() >= 20);
  CHECK(rows.size() <= 30);
  for (const auto& row : rows) {
    for (size_t d = 0; d < values.size(); ++d) REQUIRE(row[d] < values[d]);
  }
  CHECK(PairwiseRows(values, any, 1) == rows);
}

TEST_CASE("pairwise rows hold no pair that is impossible, and all others") {
  const std::vector<uint8_t> values = {5, 4, 4};
  const auto possible = [](const ValuePair& pair) {
    return pair.a.dimension != 0 || pair.b.dimension != 2 || pair.b.value != 3 || pair.a.value < 2;
  };
  const auto rows = PairwiseRows(values, possible, 1);
  CHECK(CountAllPairs(values, possible) == 5 * 4 + 5 * 4 - 3 + 4 * 4);
  CHECK(CountPairs(rows) == CountAllPairs(values, possible));
  for (const auto& row : rows) CHECK((row[2] != 3 || row[0] < 2));
}

TEST_CASE("shrinking keeps what fails and leaves out the rest") {
  std::vector<int> list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  const auto fails = [](const std::vector<int>& part) {
    const std::set<int> all(part.begin(), part.end());
    return all.count(17) != 0 && all.count(700) != 0 && all.count(701) != 0;
  };
  CHECK(ShrinkByHalving<int>(list, fails) == std::vector<int>{17, 700, 701});
}

}  // namespace
}  // namespace latchkey::model_campaign_test
