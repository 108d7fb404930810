// Snapshot isolation checked by replay: every transaction logs its snapshot, what it read, what it
// wrote and its timestamp; afterwards the commits are replayed in their order, and each read must
// have seen the state at its snapshot, and no key may have been committed by another between the
// snapshot and the commit of its writer.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/base/status_macros.h"
#include "storage/device/memory_device.h"

namespace latchkey::version_store_random_test {
namespace {

using Value = std::optional<std::string>;

struct Logged {
  CommitTs read_ts = 0;
  CommitTs commit_ts = 0;                            // 0: rolled back, or wrote nothing
  std::vector<std::pair<std::string, Value>> reads;  // of keys it had not written
  std::map<std::string, Value> writes;
  std::set<std::string> locks;
};
struct FastRead {
  CommitTs from, to;  // the clock before and after
  std::string key;
  Value value;
};
struct ActorLog {
  std::vector<Logged> transactions;
  std::vector<FastRead> fast_reads;
};

std::string KeyOf(uint64_t i) { return std::string(1, static_cast<char>('a' + i % 26)) + "key"; }

class RandomUser {
 public:
  using ChooseKey = std::function<std::string(Rng&)>;

  RandomUser(ToyTree& tree, uint64_t seed, ChooseKey choose_key)
      : tree_(tree), rng_(seed), choose_key_(std::move(choose_key)) {}

  ActorLog Run(int transactions) {
    for (int i = 0; i < transactions; ++i) {
      if (rng_.Below(8) == 0) ReadFast();
      RunOne();
    }
    return std::move(log_);
  }
  /// A transaction that waits in its middle until `commits` others have committed, or all are `done`.
  ActorLog RunLong(uint64_t commits, const std::function<bool()>& done) {
    Txn txn;
    LATCHKEY_CHECK(tree_.Begin(txn).ok());
    Logged logged;
    absl::Status status;
    const bool only_reads = rng_.Below(2) == 0;
    const auto read_some = [&] {
      for (int i = 0; status.ok() && i < 10; ++i) status = Read(txn, logged, Key());
    };
    read_some();
    const CommitTs until = txn.snapshot().read_ts + commits;
    while (tree_.snapshots.clock() < until && !done()) ThreadRuntime().SleepFor(100'000);
    read_some();
    for (int i = 0; status.ok() && !only_reads && i < 10; ++i) status = Operate(txn, logged);
    read_some();
    End(txn, logged, status);
    return std::move(log_);
  }

 private:
  void RunOne() {
    Txn txn;
    LATCHKEY_CHECK(tree_.Begin(txn).ok());
    Logged logged;
    absl::Status status;
    const uint64_t operations = rng_.Below(20) == 0 ? 200 : 1 + rng_.Below(6);
    const bool only_reads = rng_.Below(4) == 0;
    for (uint64_t i = 0; status.ok() && i < operations; ++i) {
      status = only_reads ? Read(txn, logged, Key()) : Operate(txn, logged);
    }
    End(txn, logged, status);
  }

  void End(Txn& txn, Logged& logged, const absl::Status& status) {
    logged.read_ts = txn.has_snapshot() ? txn.snapshot().read_ts : 0;
    if (status.ok() && rng_.Below(10) != 0) {
      LATCHKEY_CHECK(tree_.Commit(txn, &logged.commit_ts).ok());
    } else {
      LATCHKEY_CHECK(status.ok() || status.code() == absl::StatusCode::kAborted);
      LATCHKEY_CHECK(tree_.Rollback(txn).ok());
    }
    log_.transactions.push_back(std::move(logged));
  }

  absl::Status Operate(Txn& txn, Logged& logged) {
    const std::string key = Key();
    switch (rng_.Below(5)) {
      case 0:
      case 1:
        return Read(txn, logged, key);
      case 2: {
        const std::string value = NewValue();
        const absl::Status status = tree_.Put(txn, key, value);
        if (status.ok()) logged.writes[key] = value;
        return status;
      }
      case 3: {
        const absl::Status status = tree_.Delete(txn, key);
        if (status.code() == absl::StatusCode::kNotFound) {
          LogRead(logged, key, std::nullopt);
          return absl::OkStatus();
        }
        if (status.ok()) logged.writes[key] = std::nullopt;
        return status;
      }
      default: {
        Value value;
        const absl::Status status = tree_.GetForUpdate(txn, key, &value);
        if (!status.ok()) return status;
        LogRead(logged, key, value);
        logged.locks.insert(key);
        return status;
      }
    }
  }

  absl::Status Read(Txn& txn, Logged& logged, const std::string& key) {
    LogRead(logged, key, tree_.Get(txn, key));
    return absl::OkStatus();
  }

  void LogRead(Logged& logged, const std::string& key, const Value& value) {
    const auto own = logged.writes.find(key);
    if (own == logged.writes.end()) {
      logged.reads.emplace_back(key, value);
    } else {
      LATCHKEY_CHECK(own->second == value);
    }
  }

  void ReadFast() {
    const std::string key = Key();
    const CommitTs from = tree_.snapshots.clock();
    const auto value = tree_.TryFastGet(key);
    if (value != nullptr) log_.fast_reads.push_back({from, tree_.snapshots.clock(), key, *value});
  }

  std::string Key() { return choose_key_(rng_); }
  std::string NewValue() {
    std::string value = std::to_string(rng_.Next());
    return rng_.Below(3) == 0 ? value + std::string(ToyTree::kLongValue, '+') : value;
  }

  ToyTree& tree_;
  Rng rng_;
  const ChooseKey choose_key_;
  ActorLog log_;
};

class Replay {
 public:
  explicit Replay(const std::vector<ActorLog>& logs) {
    for (const ActorLog& log : logs) {
      for (const Logged& txn : log.transactions) Add(txn);
    }
  }

  int Count(const std::vector<ActorLog>& logs) const {
    int wrong = 0;
    for (const ActorLog& log : logs) {
      for (const Logged& txn : log.transactions) wrong += WrongReads(txn) + LostUpdates(txn);
      for (const FastRead& read : log.fast_reads) wrong += !SeenBetween(read);
    }
    return wrong;
  }
  Value At(const std::string& key, CommitTs ts) const {
    const auto versions = values_.find(key);
    if (versions == values_.end()) return std::nullopt;
    const auto after = versions->second.upper_bound(ts);
    return after == versions->second.begin() ? std::nullopt : std::prev(after)->second;
  }

 private:
  void Add(const Logged& txn) {
    if (txn.commit_ts == 0) return;
    for (const auto& [key, value] : txn.writes) {
      LATCHKEY_CHECK(values_[key].emplace(txn.commit_ts, value).second);
      commits_[key].insert(txn.commit_ts);
    }
    for (const std::string& key : txn.locks) commits_[key].insert(txn.commit_ts);
  }
  int WrongReads(const Logged& txn) const {
    int wrong = 0;
    for (const auto& [key, value] : txn.reads) wrong += At(key, txn.read_ts) != value;
    return wrong;
  }
  int LostUpdates(const Logged& txn) const {
    if (txn.commit_ts == 0) return 0;
    int lost = 0;
    const auto check = [&](const std::string& key) {
      const auto between = commits_.at(key).upper_bound(txn.read_ts);
      lost += *between != txn.commit_ts;
    };
    for (const auto& [key, value] : txn.writes) check(key);
    for (const std::string& key : txn.locks) check(key);
    return lost;
  }
  bool SeenBetween(const FastRead& read) const {
    for (CommitTs ts = read.from; ts <= read.to; ++ts) {
      if (At(read.key, ts) == read.value) return true;
    }
    return false;
  }

  std::map<std::string, std::map<CommitTs, Value>> values_;
  std::map<std::string, std::set<CommitTs>> commits_;
};

TEST_CASE("random transactions of many actors are snapshot isolated, and leave nothing behind") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 2 : 4));
  const uint64_t keys = GENERATE(3, 26);
  const bool spills = GENERATE(false, true);
  const bool has_reclaimer = GENERATE(false, true);
  CAPTURE(seed, keys, spills, has_reclaimer);
  constexpr int kActors = 4, kTransactions = kSanitizer ? 700 : 1500;
  ToyTree tree(ThreadRuntime());
  if (spills) {
    auto device = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
    REQUIRE(device.ok());
    tree.store.SetSpill(*std::move(device), 64 << 20);
    tree.store.SetBound(24 << 10);
  }
  if (has_reclaimer) tree.store.StartReclaimer();
  std::vector<ActorLog> logs(kActors);
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("random", [&, a] {
      RandomUser user(tree, seed * 100 + static_cast<uint64_t>(a),
                      [keys](Rng& rng) { return KeyOf(rng.Below(keys)); });
      logs[static_cast<size_t>(a)] = user.Run(kTransactions);
    }));
  }
  for (auto& actor : actors) actor->Join();

  const Replay replay(logs);
  CHECK(replay.Count(logs) == 0);
  tree.store.CollectAll();
  const VersionStoreStats stats = tree.store.stats();
  CHECK(stats.versions == 0);
  CHECK(stats.version_bytes == 0);
  CHECK(tree.CountGhosts() == 0);
  CHECK(tree.CountChains() == tree.CountOverflowRecords());
  Txn last;
  REQUIRE(tree.Begin(last).ok());
  for (uint64_t i = 0; i < keys; ++i) {
    CHECK(tree.Get(last, KeyOf(i)) == replay.At(KeyOf(i), tree.snapshots.clock()));
  }
  REQUIRE(tree.Commit(last).ok());
}

TEST_CASE("beside long snapshots of readers and writers, growing keys are snapshot isolated") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 3 : 7));
  const bool spills = GENERATE(false, true);
  CAPTURE(seed, spills);
  constexpr int kUsers = 3, kLongUsers = 2, kTransactions = kSanitizer ? 1500 : 4000;
  ToyTree tree(ThreadRuntime());
  if (spills) {
    auto device = MemoryDevice::Create(ThreadRuntime(), {.name = "spill"});
    REQUIRE(device.ok());
    tree.store.SetSpill(*std::move(device), 64 << 20);
    tree.store.SetBound(96 << 10);
  }
  tree.store.StartReclaimer();
  // The newest keys of one sequence, and now and then a key behind all of them.
  std::atomic<uint64_t> grown{1};
  const auto choose_key = [&grown](Rng& rng) {
    const uint64_t end = grown.load();
    const uint64_t i =
        rng.Below(4) == 0 ? grown.fetch_add(1) : end - 1 - rng.Below(std::min<uint64_t>(end, 40));
    return fmt::format("a{:08}", i);
  };
  std::vector<ActorLog> logs(kUsers + kLongUsers);
  std::atomic<int> running{kUsers};
  std::atomic<uint64_t> most_gaps{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (size_t a = 0; a < logs.size(); ++a) {
    actors.push_back(ThreadRuntime().Spawn("growing", [&, a] {
      RandomUser user(tree, seed * 100 + a, choose_key);
      if (a < kUsers) {
        logs[a] = user.Run(kTransactions);
        --running;
        return;
      }
      while (running > 0) {
        ActorLog more = user.RunLong(300 + 100 * a, [&] { return running == 0; });
        for (Logged& logged : more.transactions) logs[a].transactions.push_back(std::move(logged));
        most_gaps = std::max(most_gaps.load(), tree.store.gaps().count());
      }
    }));
  }
  for (auto& actor : actors) actor->Join();

  CHECK(Replay(logs).Count(logs) == 0);
  CHECK(most_gaps > 0);
  tree.store.CollectAll();
  CHECK(tree.store.stats().versions == 0);
  CHECK(tree.store.stats().version_bytes == 0);
  CHECK(tree.CountGhosts() == 0);
  CHECK(tree.CountChains() == tree.CountOverflowRecords());
}

TEST_CASE("transfers keep the bank's total in every snapshot") {
  constexpr int kAccounts = 20, kActors = 4, kTransfers = 1500;
  constexpr int64_t kStart = 1000;
  ToyTree tree(ThreadRuntime());
  const auto account = [](uint64_t i) { return KeyOf(i); };
  Txn load;
  REQUIRE(tree.Begin(load).ok());
  for (uint64_t i = 0; i < kAccounts; ++i) {
    REQUIRE(tree.Put(load, account(i), std::to_string(kStart)).ok());
  }
  REQUIRE(tree.Commit(load).ok());

  std::atomic<int> wrong_totals{0};
  const auto check_total = [&] {
    Txn txn;
    LATCHKEY_CHECK(tree.Begin(txn).ok());
    int64_t total = 0;
    for (uint64_t i = 0; i < kAccounts; ++i) total += std::stoll(*tree.Get(txn, account(i)));
    LATCHKEY_CHECK(tree.Commit(txn).ok());
    if (total != kStart * kAccounts) ++wrong_totals;
  };
  const auto move = [&](Txn& txn, uint64_t from, int64_t amount) {
    Value value;
    LATCHKEY_RETURN_IF_ERROR(tree.GetForUpdate(txn, account(from), &value));
    return tree.Put(txn, account(from), std::to_string(std::stoll(*value) + amount));
  };
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("bank", [&, a] {
      Rng rng(static_cast<uint64_t>(a) + 1);
      for (int i = 0; i < kTransfers; ++i) {
        Txn txn;
        LATCHKEY_CHECK(tree.Begin(txn).ok());
        const uint64_t from = rng.Below(kAccounts), to = rng.Below(kAccounts);
        const int64_t amount = rng.Between(1, 50);
        absl::Status status = move(txn, from, -amount);
        if (status.ok()) status = move(txn, to, amount);
        LATCHKEY_CHECK((status.ok() ? tree.Commit(txn) : tree.Rollback(txn)).ok());
        if (i % 16 == 0) check_total();
      }
    }));
  }
  for (auto& actor : actors) actor->Join();
  check_total();
  CHECK(wrong_totals == 0);
}

}  // namespace
}  // namespace latchkey::version_store_random_test
