#include "engine/txn/wait_graph.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"

namespace latchkey::wait_graph_test {
namespace {

// Returns once `count` waits have begun. A wait that is counted may not yet sleep, so what follows
// must hold either way.
void AwaitWaits(ToyTree& tree, uint64_t count) {
  Backoff backoff(ThreadRuntime());
  while (tree.store.stats().waits < count) backoff.Pause();
}

TEST_CASE("who waits goes on when the owner rolls back, and aborts when it commits a newer state") {
  ToyTree tree(ThreadRuntime());
  const bool owner_commits = GENERATE(false, true);
  const bool waiter_has_read = GENERATE(false, true);
  Txn owner;
  REQUIRE(tree.Begin(owner).ok());
  REQUIRE(tree.Put(owner, "a", "owner").ok());
  absl::Status outcome;
  auto actor = ThreadRuntime().Spawn("waiter", [&] {
    Txn waiter;
    LATCHKEY_CHECK(tree.Begin(waiter).ok());
    if (waiter_has_read) tree.Get(waiter, "b");
    outcome = tree.Put(waiter, "a", "waiter");
    LATCHKEY_CHECK((outcome.ok() ? tree.Commit(waiter) : tree.Rollback(waiter)).ok());
  });
  AwaitWaits(tree, 1);
  REQUIRE((owner_commits ? tree.Commit(owner) : tree.Rollback(owner)).ok());
  actor->Join();
  CHECK(outcome.ok() == !(owner_commits && waiter_has_read));
  CHECK(tree.store.stats().deadlocks == 0);
}

TEST_CASE("two that lock in opposite order: exactly one is aborted, and both finish") {
  ToyTree tree(ThreadRuntime());
  std::atomic<int> holding{0}, aborted{0}, finished{0};
  const auto run = [&](const std::string& first, const std::string& second) {
    for (bool first_try = true;; first_try = false) {
      Txn txn;
      LATCHKEY_CHECK(tree.Begin(txn).ok());
      absl::Status status = tree.Put(txn, first, "x");
      if (first_try) {
        LATCHKEY_CHECK(status.ok());
        ++holding;
        Backoff backoff(ThreadRuntime());
        while (holding < 2) backoff.Pause();
      }
      if (status.ok()) status = tree.Put(txn, second, "x");
      if (status.ok()) {
        LATCHKEY_CHECK(tree.Commit(txn).ok());
        ++finished;
        return;
      }
      LATCHKEY_CHECK(status.code() == absl::StatusCode::kAborted);
      ++aborted;
      LATCHKEY_CHECK(tree.Rollback(txn).ok());
      Backoff backoff(ThreadRuntime());
      while (finished < 1) backoff.Pause();
    }
  };
  auto one = ThreadRuntime().Spawn("one", [&] { run("a", "b"); });
  auto two = ThreadRuntime().Spawn("two", [&] { run("b", "a"); });
  one->Join();
  two->Join();
  CHECK(finished == 2);
  CHECK(aborted == 1);
  CHECK(tree.store.stats().deadlocks == 1);
}

TEST_CASE("two that always lock in opposite order and retry at once both get on") {
  ToyTree tree(ThreadRuntime());
  constexpr int kRounds = 300;
  const auto run = [&](const std::string& first, const std::string& second) {
    for (int done = 0; done < kRounds;) {
      Txn txn;
      LATCHKEY_CHECK(tree.Begin(txn).ok());
      absl::Status status = tree.Put(txn, first, "x");
      if (status.ok()) status = tree.Put(txn, second, "x");
      LATCHKEY_CHECK((status.ok() ? tree.Commit(txn) : tree.Rollback(txn)).ok());
      done += status.ok();
    }
  };
  auto one = ThreadRuntime().Spawn("one", [&] { run("a", "b"); });
  auto two = ThreadRuntime().Spawn("two", [&] { run("b", "a"); });
  one->Join();
  two->Join();
  tree.store.CollectAll();
  CHECK(tree.store.stats().versions == 0);
}

TEST_CASE("a circle of many is broken once, by the one who closes it") {
  ToyTree tree(ThreadRuntime());
  constexpr int kActors = 6;
  std::atomic<int> holding{0}, aborted{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("circle", [&, a] {
      Txn txn;
      LATCHKEY_CHECK(tree.Begin(txn).ok());
      LATCHKEY_CHECK(tree.Put(txn, std::to_string(a), "x").ok());
      ++holding;
      Backoff backoff(ThreadRuntime());
      while (holding < kActors) backoff.Pause();
      const absl::Status status = tree.Put(txn, std::to_string((a + 1) % kActors), "y");
      if (!status.ok()) ++aborted;
      LATCHKEY_CHECK((status.ok() ? tree.Commit(txn) : tree.Rollback(txn)).ok());
    }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(aborted == 1);
  CHECK(tree.store.stats().deadlocks == 1);
}

TEST_CASE("a reference to a transaction that is long over does not wait") {
  ToyTree tree(ThreadRuntime());
  Txn owner, asker;
  REQUIRE(tree.Begin(owner).ok());
  REQUIRE(tree.Put(owner, "a", "1").ok());
  REQUIRE(tree.Begin(asker).ok());
  const WriteCheck check = tree.store.CheckWrite(asker, ToyTree::kTree, "a", owner.id(),
                                                 /*has_record=*/false);
  REQUIRE(check.verdict == WriteCheck::Verdict::kWait);
  REQUIRE(tree.Rollback(owner).ok());
  // The record is in use again, by another transaction.
  REQUIRE(tree.Begin(owner).ok());
  REQUIRE(tree.Put(owner, "b", "1").ok());
  LockWait wait;
  CHECK(tree.store.WaitFor(asker, check.owner, wait).ok());
  REQUIRE(tree.Commit(owner).ok());
  REQUIRE(tree.Commit(asker).ok());
}

}  // namespace
}  // namespace latchkey::wait_graph_test
