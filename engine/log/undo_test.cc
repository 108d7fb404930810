// Undo after a crash at any record, of transactions and of the undo itself.
#include "engine/log/undo.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "engine/btree/node.h"
#include "engine/log/redo.h"
#include "engine/log/testing/logged_trees.h"
#include "storage/base/rng.h"

namespace latchkey::undo_test {
namespace {

using Records = std::vector<MemoryLog::Record>;
using Content = std::map<std::string, std::string>;

constexpr uint32_t kPageSize = LoggedTrees::kPageSize;
constexpr int kKeys = 12;

std::string KeyOf(uint64_t i) { return "key-" + std::to_string(i); }

void Require(const absl::Status& status) {
  if (!status.ok()) FAIL(status.message());
}

Content ContentOf(BufferPool& pool, BTree& tree) {
  Content content;
  for (int i = 0; i < kKeys; ++i) {
    ExclusiveGuard guard;
    Require(tree.FixLeaf(pool.Here(), KeyOf(i), &guard));
    const LatchedNodeView leaf(guard.data(), kPageSize);
    const SlotPosition position = leaf.LowerBound(KeyOf(i));
    if (!position.exact || leaf.is_ghost(position.slot)) continue;
    content[KeyOf(i)] = std::string(leaf.Value(position.slot));
  }
  return content;
}

/// A database of one tree as the records of its log make it, undone.
class Recovered {
 public:
  Recovered(std::span<const MemoryLog::Record> records, const TreeImpl& model)
      : log_(ThreadRuntime()),
        store_(ThreadRuntime(), kPageSize),
        pool_(MakeTestPool(store_, 256)) {
    log_.Restore(records);
    LogAnalysis analysis;
    LogRecord record;
    Require(log_.ForEach(Lsn{0}, [&](const LogRecordView& view) {
      const absl::Status decoded = DecodeLogRecord(view.bytes, &record);
      analysis.Add(view.lsn, record);
      return decoded;
    }));
    Require(Redo(*pool_, analysis, log_.end()).Run(log_, Lsn{0}));
    engine_log_ = EngineLog::Start(
        ThreadRuntime(), log_, [this](PageId page) { pool_->ReturnPageId(pool_->Here(), page); },
        {.page_size = kPageSize});
    tree_ = std::make_unique<TreeImpl>(model.id, std::string(model.name()), *pool_,
                                       model.btree.root(), engine_log_.get());
    UndoPass undo(*pool_, *engine_log_, analysis, [this](TreeId) { return tree_.get(); });
    Require(undo.Run());
    undone_ = undo.undone();
  }

  Content content() { return ContentOf(*pool_, tree_->btree); }
  std::string Value(std::string_view key) {
    ExclusiveGuard guard;
    Require(tree_->btree.FixLeaf(pool_->Here(), key, &guard));
    const LatchedNodeView leaf(guard.data(), kPageSize);
    const SlotPosition position = leaf.LowerBound(key);
    return position.exact ? std::string(leaf.Value(position.slot)) : "absent";
  }
  bool IsTreePage(PageId page) {
    bool found = false;
    const auto visit = [&](PageId visited) {
      found |= visited == page;
      return absl::OkStatus();
    };
    Require(tree_->btree.Check(visit, [](std::string_view) { return absl::OkStatus(); }));
    return found;
  }
  Records records() const { return log_.Records(); }
  uint64_t undone() const { return undone_; }

 private:
  MemoryLog log_;
  MapPageStore store_;
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<EngineLog> engine_log_;
  std::unique_ptr<TreeImpl> tree_;
  uint64_t undone_ = 0;
};

// A value that shares much with the one before, of the same size mostly.
std::string Changed(std::string value, Rng& rng) {
  if (value.empty() || rng.Below(5) == 0) value.assign(20 + rng.Below(150), 'v');
  for (uint64_t n = 1 + rng.Below(3); n > 0; --n) {
    value[rng.Below(value.size())] = static_cast<char>(rng.Below(256));
  }
  return value;
}

void WriteSomething(TransactionImpl& txn, TreeImpl& tree, Rng& rng) {
  const std::string key = KeyOf(rng.Below(kKeys));
  std::string value;
  if (rng.Below(6) == 0) {
    const absl::Status deleted = txn.Delete(tree, key);
    if (!absl::IsNotFound(deleted)) Require(deleted);
    return;
  }
  const absl::Status found = txn.Get(tree, key, &value);
  if (!absl::IsNotFound(found)) Require(found);
  Require(txn.Put(tree, key, Changed(value, rng)));
}

// Some writes, with rollbacks to savepoints in between, which are nested.
void WriteAndRollBackInPart(TransactionImpl& txn, TreeImpl& tree, Rng& rng) {
  std::vector<Savepoint> savepoints;
  for (int step = 0; step < 14; ++step) {
    switch (rng.Below(5)) {
      case 0: {
        absl::StatusOr<Savepoint> set = txn.SetSavepoint();
        Require(set.status());
        savepoints.push_back(*set);
        break;
      }
      case 1: {
        if (savepoints.empty()) break;
        savepoints.erase(savepoints.begin() + 1 + rng.Below(savepoints.size()), savepoints.end());
        Require(txn.RollbackTo(savepoints.back()));
        break;
      }
      default:
        WriteSomething(txn, tree, rng);
    }
  }
}

// The log holds the difference of two values. To undo a change twice, or in another order, would
// make a value that never existed.
TEST_CASE(
    "Whatever record a crash comes behind, also in undo, an unfinished transaction is undone") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{13}));
  Rng rng(seed);
  LoggedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  for (int i = 0; i < kKeys; i += 2) Require(txn.Put(tree, KeyOf(i), std::string(100, 'i')));
  Require(txn.Commit());
  const Content before = ContentOf(*db.pool, tree.btree);
  const size_t committed = db.log.Records().size();

  Require(txn.Begin());
  WriteAndRollBackInPart(txn, tree, rng);
  if (seed % 3 == 0) Require(txn.Rollback());
  Records records = db.log.Records();
  if (seed % 3 == 0) records.pop_back();  // its end

  uint64_t undone = 0;
  for (size_t cut = committed; cut <= records.size(); ++cut) {
    INFO("cut behind " << cut << " of " << records.size() << " records");
    Recovered first({records.data(), cut}, tree);
    REQUIRE(first.content() == before);
    const Records after = first.records();
    for (size_t again = cut; again < after.size(); ++again) {
      INFO("cut again behind " << again << " of " << after.size() << " records");
      Recovered second({after.data(), again}, tree);
      REQUIRE(second.content() == before);
      REQUIRE(second.undone() == first.undone() - (again - cut));
      const Records third = second.records();
      Recovered last({third.data(), again + rng.Below(third.size() - again)}, tree);
      REQUIRE(last.content() == before);
    }
    undone += first.undone();
  }
  CHECK(undone > 0);
  if (txn.active()) Require(txn.Rollback());
}

std::string WideKey(int i) { return "wide-" + std::to_string(100 + i); }

// Puts the records [from, to).
void PutWide(TransactionImpl& txn, TreeImpl& tree, int from, int to, size_t size) {
  for (int i = from; i < to; ++i) Require(txn.Put(tree, WideKey(i), std::string(size, 'w')));
}

// The store of a crashed database does not know every id that its log allocates, and hands such an
// id out again. Undo freed the page although a split of undo itself had taken it: a tree then named
// a page that was free.
TEST_CASE("A page that a split of undo takes is not freed as the allocation of a loser") {
  constexpr int kWide = 12;
  LoggedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl shrinks(db.context), fills(db.context);
  Require(fills.Begin());
  PutWide(fills, tree, 0, kWide, 250);
  Require(fills.Commit());
  const absl::StatusOr<PageId> allocated = db.store.AllocatePage();  // of a load, say
  Require(allocated.status());
  LogTxn loads;
  loads.set_id(TxnId{1000});
  Require(db.engine_log->LogUnloggedPages(loads, {{*allocated}}).status());
  Require(shrinks.Begin());
  PutWide(shrinks, tree, 0, kWide, 1);
  Require(fills.Begin());
  PutWide(fills, tree, kWide, 2 * kWide, 250);
  Require(fills.Commit());

  const Records crashed = db.log.Records();
  Recovered first(crashed, tree);
  const auto check = [&](Recovered& recovered) {
    for (int i = 0; i < 2 * kWide; ++i) {
      CHECK(recovered.Value(WideKey(i)) == std::string(250, 'w'));
    }
  };
  check(first);
  REQUIRE(first.IsTreePage(*allocated));  // else no split has taken it
  const Records after = first.records();
  for (size_t again = crashed.size(); again <= after.size(); ++again) {
    INFO("cut again behind " << again << " of " << after.size() << " records");
    Recovered second({after.data(), again}, tree);
    check(second);
  }
  Require(shrinks.Rollback());
  db.engine_log->LogEnd(loads);
}

RecordChange Compensation(std::string_view key, uint64_t from) {
  RecordChange change;
  change.tree = TreeId{1};
  change.key = key;
  change.undone_from = Lsn{from};
  return change;
}

TEST_CASE("A compensation covers the changes of its key from where it says, and what undid those") {
  UndoneChanges undone;
  const RecordChange a = Compensation("a", 0), b = Compensation("b", 0);
  CHECK_FALSE(undone.Contain(Lsn{90}, a));
  undone.AddCompensation(Lsn{80}, Compensation("a", 50));
  CHECK(undone.Contain(Lsn{70}, a));
  CHECK_FALSE(undone.Contain(Lsn{70}, b));
  undone.AddCompensation(Lsn{60}, Compensation("a", 20));  // undone itself
  CHECK(undone.Contain(Lsn{50}, a));
  CHECK_FALSE(undone.Contain(Lsn{49}, a));
  undone.AddCompensation(Lsn{40}, Compensation("a", 30));
  CHECK(undone.Contain(Lsn{35}, a));
  CHECK_FALSE(undone.Contain(Lsn{29}, a));
}

}  // namespace
}  // namespace latchkey::undo_test
