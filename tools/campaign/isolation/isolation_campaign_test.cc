#include "tools/campaign/isolation/isolation_campaign.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "storage/runtime/simulated_runtime.h"
#include "tools/campaign/isolation/isolation_checker.h"
#include "tools/campaign/isolation/isolation_invariants.h"
#include "tools/campaign/isolation/isolation_replay.h"
#include "tools/campaign/isolation/isolation_workload.h"

namespace latchkey::isolation_campaign_test {
namespace {

ListOperation Append(uint32_t key, Element element) {
  return {.is_append = true, .key = key, .element = element, .list = {}};
}
ListOperation Read(uint32_t key, std::vector<Element> list) {
  return {.is_append = false, .key = key, .element = 0, .list = std::move(list)};
}
ListTransaction At(uint64_t read_ts, uint64_t commit_ts, std::vector<ListOperation> operations,
                   bool serializable = true) {
  ListTransaction txn;
  txn.committed = true;
  txn.serializable = serializable;
  txn.operations = std::move(operations);
  txn.read_ts = read_ts;
  txn.commit_ts = commit_ts;
  return txn;
}

TEST_CASE("concurrent transactions keep what their isolation promises") {
  const IsolationCounts counts = CheckIsolation(ThreadRuntime(), 1, 6000, 1);
  for (const std::string& wrong : counts.wrong) UNSCOPED_INFO(wrong);
  CHECK(counts.wrong.empty());
  CHECK(counts.transactions >= 6000);
  CHECK(counts.committed > 1000);
  CHECK(counts.serializable > 100);
  CHECK(counts.edges > 1000);
}

TEST_CASE("held snapshots read the same again and again while users change what they read") {
  const IsolationRound round{.seed = 3,
                             .actors = 3,
                             .transactions = 1500,
                             .keys = 200,
                             .serializable_of_256 = 0,
                             .version_store_bytes = 32 << 10,
                             .held_snapshots = 3,
                             .techniques = {}};
  SimulatedRuntime simulation({.seed = round.seed, .preempt_probability = 0.01});
  absl::StatusOr<ListHistory> history;
  REQUIRE(simulation.Run([&] { history = RunIsolationRound(simulation, round); }).ok());
  INFO(history.status());
  REQUIRE(history.ok());
  for (const std::string& wrong : ReplayCommitOrder(*history)) FAIL_CHECK(wrong);
  const auto is_held = [](const ListTransaction& txn) { return txn.operations.size() > 50; };
  // The last one reads all keys when the users have ended. All others are held ones.
  CHECK(std::count_if(history->begin(), history->end(), is_held) >= 4);
}

TEST_CASE("the replay accepts a sound order and finds what does not fit it") {
  const ListHistory sound = {At(0, 1, {Append(1, 10)}),
                             At(1, 2, {Read(1, {10}), Append(1, 11), Read(1, {10, 11})}),
                             At(1, 0, {Read(1, {10})}), At(2, 0, {Read(1, {10, 11})})};
  CHECK(ReplayCommitOrder(sound).empty());

  ListHistory stale = sound;
  stale[3].operations = {Read(1, {10})};
  CHECK(ReplayCommitOrder(stale).size() == 1);
  ListHistory lost = sound;
  lost[1].read_ts = 0;
  CHECK_FALSE(ReplayCommitOrder(lost).empty());
  ListHistory twice = sound;
  twice[1].commit_ts = 1;
  CHECK_FALSE(ReplayCommitOrder(twice).empty());
}

TEST_CASE("the replay holds serializable transactions to the state before their commit") {
  ListHistory skew = {At(0, 1, {Read(1, {}), Append(2, 20)}),
                      At(0, 2, {Read(2, {}), Append(1, 10)})};
  CHECK(ReplayCommitOrder(skew).size() == 1);
  skew[1].serializable = false;
  CHECK(ReplayCommitOrder(skew).empty());
}

TEST_CASE("money is neither made nor lost, the ring stays one ring, blocks stay whole") {
  const Isolation isolation = GENERATE(Isolation::kSnapshot, Isolation::kSerializable);
  const InvariantRound round{.seed = 5, .actors = 3, .transactions = 600, .isolation = isolation};
  const absl::Status bank = RunBank(ThreadRuntime(), round);
  INFO(bank.message());
  CHECK(bank.ok());
  const absl::Status ring = RunRing(ThreadRuntime(), round);
  INFO(ring.message());
  CHECK(ring.ok());
  const absl::Status blocks = RunBlocks(ThreadRuntime(), round);
  INFO(blocks.message());
  CHECK(blocks.ok());
}

}  // namespace
}  // namespace latchkey::isolation_campaign_test
