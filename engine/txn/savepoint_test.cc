// Savepoints in the smallest tree that keeps the store's contract, against a stack of maps.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/base/rng.h"

namespace latchkey::savepoint_test {
namespace {

using Value = std::optional<std::string>;
using State = std::map<std::string, std::string>;

struct Quiet {
  ToyTree tree{ThreadRuntime()};
  ~Quiet() {
    tree.store.CollectAll();
    CHECK(tree.store.stats().versions == 0);
    CHECK(tree.store.stats().version_bytes == 0);
    CHECK(tree.CountGhosts() == 0);
    CHECK(tree.CountChains() == tree.CountOverflowRecords());
  }
  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  Value GetNow(const std::string& key) {
    Txn txn;
    REQUIRE(tree.Begin(txn).ok());
    Value value = tree.Get(txn, key);
    REQUIRE(tree.Commit(txn).ok());
    return value;
  }
};

TEST_CASE("rolling back to a savepoint undoes what was written since, and nothing else") {
  Quiet q;
  q.PutNow("a", "old");
  Txn txn;
  REQUIRE(q.tree.Begin(txn).ok());
  REQUIRE(q.tree.Put(txn, "a", "before").ok());
  REQUIRE(q.tree.Put(txn, "c", "before").ok());
  const uint64_t savepoint = q.tree.store.SetSavepoint(txn);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(q.tree.Put(txn, "a", "after").ok());
    REQUIRE(q.tree.Put(txn, "b", "after").ok());
    REQUIRE(q.tree.Delete(txn, "c").ok());
    REQUIRE(q.tree.Put(txn, "a", "after again").ok());
    REQUIRE(q.tree.RollbackTo(txn, savepoint).ok());
    CHECK(q.tree.Get(txn, "a") == "before");
    CHECK(q.tree.Get(txn, "b") == std::nullopt);
    CHECK(q.tree.Get(txn, "c") == "before");
  }
  REQUIRE(q.tree.Commit(txn).ok());
  CHECK(q.GetNow("a") == "before");
  CHECK(q.GetNow("b") == std::nullopt);
  CHECK(q.GetNow("c") == "before");
}

TEST_CASE("others never see what a savepoint undoes, and its locks stay held") {
  Quiet q;
  q.PutNow("a", "old");
  Txn txn, reader;
  REQUIRE(q.tree.Begin(txn).ok());
  REQUIRE(q.tree.Begin(reader).ok());
  const uint64_t savepoint = q.tree.store.SetSavepoint(txn);
  REQUIRE(q.tree.Put(txn, "a", "undone").ok());
  CHECK(q.tree.Get(reader, "a") == "old");
  REQUIRE(q.tree.RollbackTo(txn, savepoint).ok());
  CHECK(q.tree.Get(reader, "a") == "old");
  const WriteCheck check = q.tree.store.CheckWrite(reader, ToyTree::kTree, "a", txn.id(),
                                                   /*has_record=*/true);
  CHECK(check.verdict == WriteCheck::Verdict::kWait);
  REQUIRE(q.tree.Commit(txn).ok());
  REQUIRE(q.tree.Commit(reader).ok());
  CHECK(q.GetNow("a") == "old");
}

TEST_CASE("a savepoint that was rolled back over, or of another transaction, is refused") {
  Quiet q;
  Txn txn, other;
  REQUIRE(q.tree.Begin(txn).ok());
  REQUIRE(q.tree.Begin(other).ok());
  const uint64_t outer = q.tree.store.SetSavepoint(txn);
  const uint64_t inner = q.tree.store.SetSavepoint(txn);
  const uint64_t foreign = q.tree.store.SetSavepoint(other);
  REQUIRE(q.tree.RollbackTo(txn, outer).ok());
  CHECK(absl::IsInvalidArgument(q.tree.RollbackTo(txn, inner)));
  CHECK(absl::IsInvalidArgument(q.tree.RollbackTo(txn, foreign)));
  CHECK(absl::IsInvalidArgument(q.tree.RollbackTo(txn, 0)));
  REQUIRE(q.tree.RollbackTo(txn, outer).ok());
  REQUIRE(q.tree.Rollback(txn).ok());
  REQUIRE(q.tree.Rollback(other).ok());
}

TEST_CASE("a loop of savepoint, write and rollback takes no more memory") {
  Quiet q;
  q.PutNow("a", "old");
  Txn txn;
  REQUIRE(q.tree.Begin(txn).ok());
  REQUIRE(q.tree.Put(txn, "b", "mine").ok());
  const uint64_t savepoint = q.tree.store.SetSavepoint(txn);
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(q.tree.Put(txn, "a", std::string(20, 'x')).ok());
    REQUIRE(q.tree.Put(txn, "b", std::string(20, 'x')).ok());
    REQUIRE(q.tree.RollbackTo(txn, savepoint).ok());
  }
  CHECK(q.tree.store.stats().version_bytes <= 3 * sizeof(WriteRecord));
  REQUIRE(q.tree.Commit(txn).ok());
}

TEST_CASE("after a restore that failed a full rollback still gives everything back") {
  Quiet q;
  const std::string large(100, 'L');
  q.PutNow("a", large);
  Txn txn;
  REQUIRE(q.tree.Begin(txn).ok());
  REQUIRE(q.tree.Put(txn, "a", large + "1").ok());
  const uint64_t savepoint = q.tree.store.SetSavepoint(txn);
  REQUIRE(q.tree.Put(txn, "a", large + "2").ok());
  q.tree.fail_restores = true;
  CHECK(absl::IsUnavailable(q.tree.RollbackTo(txn, savepoint)));
  q.tree.fail_restores = false;
  REQUIRE(q.tree.Rollback(txn).ok());
  CHECK(q.GetNow("a") == large);
}

// One transaction after the other: each a random walk over writes, savepoints and rollbacks, beside
// a model that keeps a copy of everything at each savepoint.
class Walk {
 public:
  Walk(ToyTree& tree, Rng& rng, State& committed)
      : tree_(tree), rng_(rng), committed_(committed), now_(committed) {
    REQUIRE(tree_.Begin(txn_).ok());
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    CheckAll();
    if (rng_.Below(3) == 0) {
      REQUIRE(tree_.Rollback(txn_).ok());
    } else {
      REQUIRE(tree_.Commit(txn_).ok());
      committed_ = now_;
    }
  }

 private:
  std::string Key() { return std::string(1, static_cast<char>('a' + rng_.Below(6))); }

  void Step() {
    const std::string key = Key();
    switch (rng_.Below(9)) {
      case 0:
        points_.emplace_back(tree_.store.SetSavepoint(txn_), now_);
        break;
      case 1:
        if (!points_.empty()) Return(rng_.Below(points_.size()));
        break;
      case 2:
      case 3:
        CHECK(tree_.Delete(txn_, key).ok() == (now_.erase(key) == 1));
        break;
      case 4: {
        Value value;
        REQUIRE(tree_.GetForUpdate(txn_, key, &value).ok());
        CheckValue(key, value);
        break;
      }
      case 5:
        CheckAll();
        break;
      default: {
        std::string value = std::to_string(rng_.Next());
        if (rng_.Below(2) == 0) value += std::string(ToyTree::kLongValue, '+');
        REQUIRE(tree_.Put(txn_, key, value).ok());
        now_[key] = value;
      }
    }
  }

  void Return(size_t point) {
    REQUIRE(tree_.RollbackTo(txn_, points_[point].first).ok());
    now_ = points_[point].second;
    points_.resize(point + 1);
  }

  void CheckValue(const std::string& key, const Value& value) {
    const auto found = now_.find(key);
    CHECK(value == (found == now_.end() ? std::nullopt : Value(found->second)));
  }
  void CheckAll() {
    Txn other;
    REQUIRE(tree_.Begin(other).ok());
    for (char c = 'a'; c < 'a' + 6; ++c) {
      const std::string key(1, c);
      CheckValue(key, tree_.Get(txn_, key));
      const auto found = committed_.find(key);
      CHECK(tree_.Get(other, key) ==
            (found == committed_.end() ? std::nullopt : Value(found->second)));
    }
    REQUIRE(tree_.Commit(other).ok());
  }

  ToyTree& tree_;
  Rng& rng_;
  State& committed_;
  State now_;
  Txn txn_;
  std::vector<std::pair<uint64_t, State>> points_;
};

TEST_CASE("random nests of savepoints give the states that they were set in") {
  const uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  Quiet q;
  Rng rng(seed);
  State committed;
  for (int i = 0; i < 60; ++i)
    Walk(q.tree, rng, committed).Run(1 + static_cast<int>(rng.Below(60)));
}

}  // namespace
}  // namespace latchkey::savepoint_test
