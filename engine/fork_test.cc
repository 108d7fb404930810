// A child process of the one that opened the database: no call of it does anything, and the parent
// does not notice.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/runtime/runtime.h"

namespace latchkey::fork_test {
namespace {

// Runs `body` in a child process, which counts what is not as expected. Catch's own assertions
// would report in the child.
template <typename Body>
int FaultsInChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    int faults = 0;
    body([&](bool as_expected) { faults += as_expected ? 0 : 1; });
    _exit(faults);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

bool IsForeign(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) &&
         std::string(status.message()).find("open a database after fork()") != std::string::npos;
}

TEST_CASE("After fork() every call of the child is refused by name") {
  const Durability durability =
      GENERATE(values({Durability::kNone, Durability::kGroup, Durability::kCommit}));
  TempDir dir;
  Options options;
  options.durability = durability;
  auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 300; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "parent's"));
  std::optional<Transaction> txn(db->Begin());
  REQUIRE_OK(txn->Put(tree, "0", "running"));
  const Savepoint point = *txn->SetSavepoint();
  std::optional<Cursor> cursor(txn->NewCursor(tree));
  cursor->SeekToFirst();

  const auto everything = [&](auto expect) {
    std::string value;
    WriteBatch batch;
    batch.Put(tree, "k", "child's");
    expect(IsForeign(db->Get(tree, "1", &value)));
    expect(IsForeign(db->Put(tree, "1", "child's")));
    expect(IsForeign(db->Delete(tree, "1")));
    expect(IsForeign(db->Write(batch)));
    expect(IsForeign(db->OpenTree("t").status()));
    expect(IsForeign(db->OpenTree("new").status()));
    expect(IsForeign(db->DropTree("t")));
    expect(IsForeign(db->Checkpoint()));
    expect(IsForeign(db->SetCacheBytes(16 << 20)));
    expect(IsForeign(db->Verify()));
    expect(IsForeign(db->Close()));
    expect(db->ListTrees().empty());
    expect(db->GetStatistics().commits == 0);
    Transaction begun = db->Begin();
    expect(IsForeign(begun.Put(tree, "1", "child's")));
    expect(IsForeign(begun.Commit()));
    expect(IsForeign(txn->Get(tree, "1", &value)));
    expect(IsForeign(txn->Put(tree, "1", "child's")));
    expect(IsForeign(txn->GetForUpdate(tree, "1", &value)));
    expect(IsForeign(txn->SetSavepoint().status()));
    expect(IsForeign(txn->RollbackTo(point)));
    expect(IsForeign(txn->Rollback()));
    expect(IsForeign(txn->Commit()));
    txn->Prefetch(tree, {});
    cursor->Next();
    expect(!cursor->Valid() && IsForeign(cursor->status()));
    cursor->SeekToFirst();
    expect(!cursor->Valid() && IsForeign(cursor->status()));
  };
  CHECK(FaultsInChild(everything) == 0);
}

TEST_CASE("In a child, objects of the parent's database go in any order, and a grandchild is one") {
  const Durability durability = GENERATE(values({Durability::kNone, Durability::kCommit}));
  TempDir dir;
  const std::string path = dir.File("db");
  Options options;
  options.durability = durability;
  auto db = OpenOrFail(path, options);
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "parent's"));
  std::optional<Transaction> txn(db->Begin());
  REQUIRE_OK(txn->Put(tree, "k", "running"));
  std::optional<Cursor> cursor(txn->NewCursor(tree));
  cursor->SeekToFirst();
  CHECK(FaultsInChild([&](auto) {
          cursor.reset();
          txn.reset();
          db.reset();
        }) == 0);
  CHECK(FaultsInChild([&](auto expect) {
          db.reset();
          std::string value;
          expect(IsForeign(txn->Get(tree, "k", &value)));
          cursor->Next();
          expect(IsForeign(cursor->status()));
          txn.reset();
          cursor.reset();
        }) == 0);
  CHECK(FaultsInChild([&](auto expect) {
          expect(absl::IsFailedPrecondition(Database::Open(path, {}).status()));
          const int below = FaultsInChild([&](auto) {
            txn.reset();
            db.reset();
          });
          expect(below == 0);
          db.reset();
        }) == 0);

  // The parent has all its own.
  REQUIRE_OK(txn->Commit());
  REQUIRE_OK(db->Put(tree, "l", "after"));
  REQUIRE_OK(db->Verify());
  REQUIRE_OK(db->Close());
  db = OpenOrFail(path, options);
  std::string value;
  REQUIRE_OK(db->Get(TreeOrFail(*db, "t"), "k", &value));
  CHECK(value == "running");
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A fork in the middle of other threads' work leaves a child that can go") {
  TempDir dir;
  Options options;
  options.durability = Durability::kGroup;
  options.cache_bytes = 8 << 20;  // few versions fit, so the snapshot below has them spilled
  auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  std::optional<Transaction> snapshot(db->Begin({.read_only = true}));
  std::string nothing;
  REQUIRE(absl::IsNotFound(snapshot->Get(tree, "k", &nothing)));
  std::atomic<bool> stop{false}, failed{false};
  std::vector<std::unique_ptr<Actor>> writers;
  for (int w = 0; w < 3; ++w) {
    writers.push_back(ThreadRuntime().Spawn("writer", [&, w] {
      for (int i = 0; !stop; ++i) {
        const std::string key = std::to_string(w) + std::to_string(i % 500);
        if (!db->Put(tree, key, std::string(static_cast<size_t>(i % 300), 'v')).ok()) failed = true;
      }
    }));
  }
  for (int i = 0; i < 20; ++i) {
    CHECK(FaultsInChild([&](auto expect) {
            expect(IsForeign(db->Put(tree, "k", "child's")));
            expect(db->ListTrees().empty());
            snapshot.reset();
            db.reset();
          }) == 0);
    ThreadRuntime().SleepFor(kNanosPerMilli);
  }
  stop = true;
  writers.clear();
  CHECK_FALSE(failed);
  std::string value;
  CHECK(absl::IsNotFound(db->Get(tree, "k", &value)));
  CHECK(absl::IsNotFound(snapshot->Get(tree, "00", &value)));
  REQUIRE_OK(snapshot->Commit());
  REQUIRE_OK(db->Verify());
}

TEST_CASE("The parent closes and reopens while a child lives, and the child opens what is free") {
  if (kThreadSanitizer) return;  // it lets no child of several threads start another
  TempDir dir;
  const std::string path = dir.File("db");
  auto db = OpenOrFail(path, {});
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  int go[2];
  REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  char byte = 'x';
  if (child == 0) {
    if (read(go[0], &byte, 1) != 1) _exit(1);
    auto own = Database::Open(path, {});
    if (!own.ok()) _exit(2);
    const auto tree = (*own)->OpenTree("t");
    if (!tree.ok() || !(*own)->Put(*tree, "k", "child's").ok()) _exit(3);
    db.reset();  // the copy that the child has inherited
    _exit((*own)->Close().ok() ? 0 : 4);
  }
  REQUIRE_OK(db->Close());
  db = OpenOrFail(path, {});
  db.reset();
  REQUIRE(write(go[1], &byte, 1) == 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  for (const int fd : go) close(fd);
  db = OpenOrFail(path, {});
  std::string value;
  REQUIRE_OK(db->Get(TreeOrFail(*db, "t"), "k", &value));
  CHECK(value == "child's");
}

}  // namespace
}  // namespace latchkey::fork_test
