// The whole engine on SimulatedRuntime: the same seed is the same history, and no schedule breaks
// the bank.
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/testing/testing_database.h"
#include "layout/segment_store.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/device/memory_device.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::simulation_test {
namespace {

constexpr int kAccounts = 2400, kOpening = 100;

struct Scenario {
  SimulationOptions simulation;
  std::string layout = "overwrite";
  std::string replacement = "clock";
  std::string synchronization = "global";
  std::string fix = "optimistic";
  int tellers = 4;
  int transfers = 80;  // of each teller
};

struct History {
  uint64_t hash = 0;
  Nanos end = 0;
  Statistics statistics;
};

std::string AccountKey(uint64_t account) {
  char key[16];
  std::snprintf(key, sizeof(key), "acct%06u", static_cast<unsigned>(account));
  return key;
}

// Values of uneven sizes, so that pages split and merge as balances move.
std::string AccountValue(int balance) {
  return std::to_string(balance) + std::string(1, ' ') +
         std::string(200 + static_cast<size_t>(balance * 7) % 300, 'v');
}

int BalanceOf(const std::string& value) { return std::stoi(value); }

Options OptionsOf(const Scenario& scenario) {
  Options options;
  options.cache_bytes = 1 << 20;
  options.techniques.layout = scenario.layout;
  options.techniques.replacement = scenario.replacement;
  options.techniques.synchronization = scenario.synchronization;
  options.techniques.fix = scenario.fix;
  options.techniques.cleaners = 2;
  options.techniques.seed = scenario.simulation.seed;
  return options;
}

std::unique_ptr<DatabaseImpl> OpenBank(SimulatedRuntime& runtime, const Scenario& scenario) {
  absl::StatusOr<std::unique_ptr<MemoryDevice>> device =
      MemoryDevice::Create(runtime, {.capacity_limit_bytes = uint64_t{64} << 20});
  REQUIRE(device.ok());
  SegmentStoreOptions store;
  store.layout = Layouts().Named(scenario.layout);
  store.segment_cleaning = *ParseSegmentCleaning(kAutoCleaning, store.layout);
  store.segment_size = 64 << 10;
  store.reserve_bytes = 0;
  store.seed = scenario.simulation.seed;
  store.database_id = 0x1234;
  store.assumed_costs =
      PageCosts{.page_write_ns = 8000, .segment_write_ns = 1000, .segment_read_ns = 4000};
  absl::StatusOr<OpenedSegmentStore> opened = OpenSegmentStore(runtime, *std::move(device), store);
  INFO(opened.status().message());
  REQUIRE(opened.ok());
  OpenedStore parts;
  parts.store = std::move(opened->store);
  parts.client_root = std::move(opened->client_root);
  absl::StatusOr<std::unique_ptr<DatabaseImpl>> db =
      DatabaseImpl::OpenOver(runtime, std::move(parts), *ResolveOptions(OptionsOf(scenario)));
  INFO(db.status().message());
  REQUIRE(db.ok());
  return *std::move(db);
}

// One simulated afternoon at the bank: tellers transfer, an auditor reads snapshots, checkpoints go
// on, page and segment cleaners work in the background.
class Bank {
 public:
  Bank(SimulatedRuntime& runtime, const Scenario& scenario)
      : runtime_(runtime), scenario_(scenario), db_(OpenBank(runtime, scenario)) {
    absl::StatusOr<TreeImpl*> tree = db_->OpenTree("accounts", /*create=*/true);
    REQUIRE(tree.ok());
    tree_ = *tree;
  }

  void Open() {
    for (int first = 0; first < kAccounts; first += 50) {
      REQUIRE_OK(db_->RunTransaction([&](TransactionImpl& txn) -> absl::Status {
        for (int a = first; a < first + 50; ++a) {
          const absl::Status put = txn.Put(*tree_, AccountKey(a), AccountValue(kOpening));
          if (!put.ok()) return put;
        }
        return absl::OkStatus();
      }));
    }
  }

  void Work() {
    std::vector<std::unique_ptr<Actor>> actors;
    for (int t = 0; t < scenario_.tellers; ++t) {
      actors.push_back(runtime_.Spawn("teller-" + std::to_string(t), [this, t] { Transfer(t); }));
    }
    actors.push_back(runtime_.Spawn("auditor", [this] { Audit(); }));
    actors.push_back(runtime_.Spawn("checkpointer", [this] {
      for (int i = 0; i < 5; ++i) {
        runtime_.SleepFor(200 * kNanosPerMicro);
        REQUIRE_OK(db_->Checkpoint());
      }
    }));
    for (auto& actor : actors) actor->Join();
  }

  Statistics Close() {
    REQUIRE_OK(db_->Verify());
    CHECK(Total(/*forward=*/true) == kAccounts * kOpening);
    const Statistics statistics = db_->GetStatistics();
    REQUIRE_OK(db_->Close());
    return statistics;
  }

 private:
  void Transfer(int teller) {
    Rng rng(scenario_.simulation.seed * 100 + static_cast<uint64_t>(teller));
    for (int i = 0; i < scenario_.transfers; ++i) {
      // Half of them among a few accounts, so that transactions meet.
      const uint64_t range = rng.Below(2) == 0 ? 6 : kAccounts;
      const uint64_t from = rng.Below(range), to = rng.Below(range);
      const int amount = static_cast<int>(rng.Below(20));
      if (from == to) continue;
      REQUIRE_OK(
          db_->RunTransaction([&](TransactionImpl& txn) { return Move(txn, from, to, amount); }));
      runtime_.NoteInHistory(from << 32 | to);
    }
  }

  absl::Status Move(TransactionImpl& txn, uint64_t from, uint64_t to, int amount) {
    std::string a, b;
    absl::Status status = txn.Get(*tree_, AccountKey(from), &a);
    if (status.ok()) status = txn.Get(*tree_, AccountKey(to), &b);
    if (status.ok()) {
      status = txn.Put(*tree_, AccountKey(from), AccountValue(BalanceOf(a) - amount));
    }
    if (status.ok()) {
      status = txn.Put(*tree_, AccountKey(to), AccountValue(BalanceOf(b) + amount));
    }
    return status;
  }

  void Audit() {
    for (int i = 0; i < 6; ++i) {
      const int64_t total = Total(/*forward=*/i % 2 == 0);
      CHECK(total == kAccounts * kOpening);
      runtime_.SleepFor(20 * kNanosPerMicro);
    }
  }

  // Again when the versions that its snapshot needs were given up for room.
  int64_t Total(bool forward) {
    for (Backoff backoff(runtime_);; backoff.Pause()) {
      const std::unique_ptr<TransactionImpl> txn = db_->Begin();
      int64_t total = 0;
      const absl::Status read = ReadAll(*txn, forward, &total);
      REQUIRE_OK(txn->Rollback());
      if (read.ok()) return total;
      INFO(read.message());
      REQUIRE(absl::IsAborted(read));
    }
  }

  absl::Status ReadAll(TransactionImpl& txn, bool forward, int64_t* total) {
    CursorImpl cursor(txn, tree_, {});
    uint64_t contents = 0;
    for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid();
         forward ? cursor.Next() : cursor.Prev()) {
      *total += BalanceOf(std::string(cursor.value()));
      contents = Hash64(cursor.value(), Hash64(cursor.key(), contents));
    }
    runtime_.NoteInHistory(contents);
    return cursor.status();
  }

  SimulatedRuntime& runtime_;
  const Scenario& scenario_;
  const std::unique_ptr<DatabaseImpl> db_;
  TreeImpl* tree_ = nullptr;
};

History Simulate(const Scenario& scenario) {
  SimulatedRuntime runtime(scenario.simulation);
  History history;
  const absl::Status ran = runtime.Run([&] {
    Bank bank(runtime, scenario);
    bank.Open();
    bank.Work();
    history.statistics = bank.Close();
  });
  INFO(ran.message());
  REQUIRE(ran.ok());
  history.hash = runtime.history_hash();
  history.end = runtime.Now();
  return history;
}

Scenario Preempting(uint64_t seed) {
  Scenario scenario;
  scenario.simulation.seed = seed;
  scenario.simulation.preempt_probability = 0.02;
  scenario.simulation.max_hand_overs = 50'000'000;
  return scenario;
}

TEST_CASE("The whole engine with the same seed has the same history, whatever its techniques",
          "[simulation]") {
  Scenario scenario = Preempting(7);
  scenario.layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  if (scenario.layout == "lfs") scenario.replacement = "2q";
  if (scenario.layout == "wolf") scenario.replacement = "random";
  if (scenario.layout == "wolf") scenario.fix = "latched";
  if (scenario.layout == "hylog") scenario.synchronization = "regions:4";
  if (scenario.layout == "lfs") scenario.synchronization = "separate:actors=3";
  INFO(scenario.layout);
  const History first = Simulate(scenario);
  const History second = Simulate(scenario);
  CHECK(first.hash == second.hash);
  CHECK(first.end == second.end);
  CHECK(first.statistics.fixes == second.statistics.fixes);
  // The scenario is not too small to mean something.
  CHECK(first.statistics.misses > 400);
  CHECK(first.statistics.commits > 100);
  CHECK(first.statistics.async_page_writes + first.statistics.sync_page_writes > 300);
}

TEST_CASE("Seeds take the engine through different schedules, and none of them breaks the bank",
          "[simulation]") {
  std::set<uint64_t> hashes;
  constexpr uint64_t kSeeds = 6;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scenario scenario = Preempting(seed);
    if (seed % 2 == 0) scenario.layout = "hylog";
    if (seed % 3 == 2) scenario.fix = "latched";
    if (seed % 3 == 1) scenario.synchronization = "separate:actors=4:private=0.5";
    scenario.simulation.preempt_probability = 0.05 * static_cast<double>(seed);
    scenario.simulation.processors = seed % 3 == 0 ? 1 : 0;
    if (seed % 3 == 1) scenario.simulation.quantum = 0;
    INFO("seed " << seed);
    hashes.insert(Simulate(scenario).hash);
  }
  CHECK(hashes.size() == kSeeds);
}

}  // namespace
}  // namespace latchkey::simulation_test
