#include "tools/campaign/kills/kill_campaign.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/testing/testing_database.h"
#include "storage/base/testing/temp_dir.h"
#include "tools/campaign/kills/kill_child.h"
#include "tools/campaign/kills/kill_workload.h"
#include "tools/campaign/shared/kill_process.h"

namespace latchkey::kill_campaign_test {
namespace {

TEST_CASE("what was acknowledged is found after every kill") {
  TempDir dir;
  KillCampaignOptions options;
  options.directory = dir.path().string();
  options.kills = 12;
  options.kills_per_store = 3;
  options.max_run_ms = 30;
  const KillReport report = RunKills(ThreadRuntime(), options);
  INFO(report.wrong);
  CHECK(report.wrong.empty());
  CHECK(report.kills == 12);
  CHECK(report.stores == 4);
  CHECK(report.compared >= 2 * report.stores);
}

TEST_CASE("a child dies at the call that it was told") {
  const std::string name = GENERATE("data-write", "log-write", "map-write", "data-sync", "log-sync",
                                    "map-sync", "directory-sync", "grow");
  TempDir dir;
  const auto child = ChildProcess::Start([&] {
    ArmKillPoint({.name = name, .at_call = 1});
    Options options;
    options.durability = Durability::kCommit;
    options.cache_bytes = 4 << 20;
    options.techniques.segment_size = 128 << 10;
    const auto db = Database::Open(dir.File("db"), options);
    if (!db.ok()) return 1;
    const auto tree = (*db)->OpenTree("tree");
    if (!tree.ok() || !(*db)->Put(*tree, "key", "value").ok()) return 1;
    return (*db)->Close().ok() ? 0 : 1;
  });
  REQUIRE(child.ok());
  (*child)->WaitForEnd();
  INFO(name << ": " << (*child)->DescribeEnd());
  CHECK((*child)->was_killed());
}

TEST_CASE("a point is a name and the number of a call") {
  const auto point = ParseKillPoint("log-sync:17");
  REQUIRE(point);
  CHECK(point->name == "log-sync");
  CHECK(point->at_call == 17);
  CHECK(ParseKillPoint("grow")->at_call == 1);
  for (const char* wrong : {"", "log", "log-sync:", "log-sync:0", "log-sync:x", "log-sync:1x"}) {
    CHECK_FALSE(ParseKillPoint(wrong));
  }
}

// A store with the first `done` transactions of one thread, without a kill.
struct WorkedStore {
  explicit WorkedStore(uint64_t done) {
    db = OpenInMemory();
    trees = *OpenKillTrees(*db);
    models.emplace_back(seed, 0);
    models.front().AdvanceTo(done);
    for (uint64_t s = 1; s <= done; ++s) {
      Transaction transaction = db->Begin();
      if (MakeKillTransaction(seed, 0, s).takes_ticket) {
        REQUIRE_OK(TakeTicket(transaction, trees.notes, 0, s));
      }
      REQUIRE_OK(transaction.Put(trees.notes, KillHeadKey(0), std::to_string(s)));
      REQUIRE_OK(transaction.Commit());
    }
    for (const auto& [key, value] : models.front().rows()) {
      REQUIRE_OK(db->Put(trees.rows, key, value));
    }
  }
  absl::Status Check(uint64_t promised, uint64_t submitted) {
    std::vector<KillThreadModel> fresh;
    fresh.emplace_back(seed, 0);
    const std::vector<KillBounds> bounds = {{promised, submitted}};
    return CheckKillStore(*db, trees, seed, bounds, fresh);
  }

  const uint64_t seed = 5;
  std::unique_ptr<Database> db;
  KillTrees trees;
  std::vector<KillThreadModel> models;
};

TEST_CASE("the comparison accepts what is between promised and submitted, and nothing else") {
  WorkedStore store(40);
  REQUIRE_OK(store.Check(40, 40));
  REQUIRE_OK(store.Check(12, 41));
  CHECK(absl::IsInternal(store.Check(41, 41)));
  CHECK(absl::IsInternal(store.Check(39, 39)));
}

TEST_CASE("the comparison finds every record that is missing, wrong or too much") {
  const std::string mistake = GENERATE("missing", "wrong", "foreign", "ticket", "holder", "batch");
  WorkedStore store(60);
  const auto& [key, value] = *store.models.front().rows().begin();
  if (mistake == "missing") REQUIRE_OK(store.db->Delete(store.trees.rows, key));
  if (mistake == "wrong") REQUIRE_OK(store.db->Put(store.trees.rows, key, value + "x"));
  if (mistake == "foreign") REQUIRE_OK(store.db->Put(store.trees.rows, "00000/99", "x"));
  if (mistake == "ticket") REQUIRE_OK(store.db->Put(store.trees.notes, "ticket", "99"));
  if (mistake == "holder") REQUIRE_OK(store.db->Put(store.trees.notes, "order/01", "1 0 999"));
  if (mistake == "batch") {
    REQUIRE_OK(
        store.db->Put(TreeOrFail(*store.db, "passing"), "passing 00", std::string(100, 'p')));
  }
  const absl::Status found = store.Check(60, 60);
  INFO(mistake << ": " << found.ToString());
  CHECK(absl::IsInternal(found));
}

TEST_CASE("a transaction of the oracle is decided by seed, thread and number") {
  const KillTransaction a = MakeKillTransaction(1, 2, 3), b = MakeKillTransaction(1, 2, 3);
  REQUIRE(a.writes.size() == b.writes.size());
  CHECK(a.writes.front().key == b.writes.front().key);
  CHECK(a.writes.front().value == b.writes.front().value);
  KillThreadModel stepwise(7, 0), at_once(7, 0);
  for (uint64_t s = 1; s <= 50; ++s) stepwise.AdvanceTo(s);
  at_once.AdvanceTo(50);
  CHECK(stepwise.rows() == at_once.rows());
}

}  // namespace
}  // namespace latchkey::kill_campaign_test
