// Tests the promises of KvBackend for every backend of the build. A new backend is tested as soon
// as it is in the list. every_backend.h names the few allowed differences.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/rng.h"
#include "tpcc-lite/kv/testing/every_backend.h"

namespace latchkey::kv_conformance_test {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr TableIndex kFirst = 0;
constexpr TableIndex kSecond = 1;

struct Fixture {
  explicit Fixture(const BackendUnderTest& which)
      : under_test(which), backend(OpenIn(which, directory, {"first", "second"})) {
    session = NewSession();
  }
  ~Fixture() {
    session.reset();
    CHECK(backend->Close().ok());
  }

  std::unique_ptr<KvSession> NewSession() {
    auto opened = backend->NewSession();
    REQUIRE(opened.ok());
    return *std::move(opened);
  }

  void Reopen() {
    session.reset();
    REQUIRE(backend->Close().ok());
    backend.reset();
    backend = OpenIn(under_test, directory, {"first", "second"});
    session = NewSession();
  }

  /// Ends open transactions and empties both tables.
  void Clear() {
    session = NewSession();
    REQUIRE(session->Begin().ok());
    const std::string end(32, '\xff');
    for (const TableIndex table : {kFirst, kSecond}) {
      std::vector<std::string> keys;
      REQUIRE(session
                  ->Scan(table, "", end, /*reverse=*/false,
                         [&keys](std::string_view key, std::string_view) {
                           keys.emplace_back(key);
                           return true;
                         })
                  .ok());
      for (const std::string& key : keys) REQUIRE(session->Delete(table, key).ok());
    }
    REQUIRE(session->Commit().ok());
  }

  void Put(std::string_view key, std::string_view value, TableIndex table = kFirst) {
    REQUIRE(session->Begin().ok());
    REQUIRE(session->Put(table, key, value).ok());
    REQUIRE(session->Commit().ok());
  }

  TempDir directory;
  BackendUnderTest under_test;
  std::unique_ptr<KvBackend> backend;
  std::unique_ptr<KvSession> session;
};

// Reads within an open transaction: the value, or "(none)".
std::string Read(KvSession& session, std::string_view key, TableIndex table = kFirst) {
  std::string value;
  const absl::Status status = session.Get(table, key, &value);
  if (absl::IsNotFound(status)) return "(none)";
  INFO(status.ToString());
  REQUIRE(status.ok());
  return value;
}

// Reads in a transaction of its own.
std::string ReadAlone(KvSession& session, std::string_view key, TableIndex table = kFirst) {
  REQUIRE(session.Begin().ok());
  std::string value = Read(session, key, table);
  REQUIRE(session.Commit().ok());
  return value;
}

Rows ScanAll(KvSession& session, std::string_view from, std::string_view to, bool reverse = false,
             size_t limit = SIZE_MAX) {
  Rows rows;
  const absl::Status status = session.Scan(
      kFirst, from, to, reverse, [&rows, limit](std::string_view key, std::string_view value) {
        rows.emplace_back(key, value);
        return rows.size() < limit;
      });
  INFO(status.ToString());
  REQUIRE(status.ok());
  return rows;
}

void CommittedValuesAreRead(Fixture& f) {
  f.Put("key", "value");
  CHECK(ReadAlone(*f.session, "key") == "value");
  CHECK(ReadAlone(*f.session, "key", kSecond) == "(none)");
  CHECK(ReadAlone(*f.session, "kex") == "(none)");
  f.Put("key", "another, longer value");
  CHECK(ReadAlone(*f.session, "key") == "another, longer value");
}

void OwnWritesAreSeen(Fixture& f) {
  f.Put("a", "1");
  REQUIRE(f.session->Begin().ok());
  REQUIRE(f.session->Put(kFirst, "a", "2").ok());
  REQUIRE(f.session->Insert(kFirst, "b", "3").ok());
  CHECK(Read(*f.session, "a") == "2");
  CHECK(Read(*f.session, "b") == "3");
  REQUIRE(f.session->Delete(kFirst, "a").ok());
  CHECK(Read(*f.session, "a") == "(none)");
  CHECK(ScanAll(*f.session, "a", "z") == Rows{{"b", "3"}});
  REQUIRE(f.session->Commit().ok());
  CHECK(ReadAlone(*f.session, "a") == "(none)");
  CHECK(ReadAlone(*f.session, "b") == "3");
}

void ValuesAreReadForUpdate(Fixture& f) {
  f.Put("counter", "1");
  REQUIRE(f.session->Begin().ok());
  std::string value;
  REQUIRE(f.session->GetForUpdate(kFirst, "counter", &value).ok());
  CHECK(value == "1");
  CHECK(absl::IsNotFound(f.session->GetForUpdate(kFirst, "missing", &value)));
  REQUIRE(f.session->Put(kFirst, "counter", "2").ok());
  REQUIRE(f.session->GetForUpdate(kFirst, "counter", &value).ok());
  CHECK(value == "2");
  REQUIRE(f.session->Commit().ok());
  CHECK(ReadAlone(*f.session, "counter") == "2");
}

void AnyBytesAreKept(Fixture& f) {
  const std::string binary("\0\xff\x01\0", 4);
  f.Put(binary, binary);
  f.Put("empty", std::string_view());
  f.Put("large", std::string(5'000, 'x'));
  CHECK(ReadAlone(*f.session, binary) == binary);
  CHECK(ReadAlone(*f.session, "empty").empty());
  CHECK(ReadAlone(*f.session, "large") == std::string(5'000, 'x'));
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, std::string_view("\0", 1), "f").size() == 2);
  REQUIRE(f.session->Commit().ok());
}

void ScansAreOrdered(Fixture& f) {
  for (const char* key : {"b", "a", "d", "c", "bb"}) f.Put(key, std::string("v") + key);
  f.Put("bc", "other table", kSecond);
  REQUIRE(f.session->Begin().ok());
  const Rows middle = {{"b", "vb"}, {"bb", "vbb"}, {"c", "vc"}};
  CHECK(ScanAll(*f.session, "b", "d") == middle);
  CHECK(ScanAll(*f.session, "b", "d", true) == Rows(middle.rbegin(), middle.rend()));
  CHECK(ScanAll(*f.session, "aa", "cc") == middle);
  CHECK(ScanAll(*f.session, "aa", "cc", true) == Rows(middle.rbegin(), middle.rend()));
  CHECK(ScanAll(*f.session, "", "zz").size() == 5);
  CHECK(ScanAll(*f.session, "", "zz", true).size() == 5);
  REQUIRE(f.session->Commit().ok());
}

void EmptyRangesAreEmpty(Fixture& f) {
  f.Put("b", "1");
  f.Put("d", "2");
  REQUIRE(f.session->Begin().ok());
  for (const bool reverse : {false, true}) {
    CHECK(ScanAll(*f.session, "b", "b", reverse).empty());
    CHECK(ScanAll(*f.session, "d", "b", reverse).empty());
    CHECK(ScanAll(*f.session, "ba", "d", reverse).empty());
    CHECK(ScanAll(*f.session, "e", "z", reverse).empty());
    CHECK(ScanAll(*f.session, "", "a", reverse).empty());
    CHECK(ScanAll(*f.session, "", "", reverse).empty());
  }
  REQUIRE(f.session->Commit().ok());
}

void ScansEndEarly(Fixture& f) {
  for (const char* key : {"a", "b", "c"}) f.Put(key, "v");
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "a", "z", false, 2) == Rows{{"a", "v"}, {"b", "v"}});
  CHECK(ScanAll(*f.session, "a", "z", true, 1) == Rows{{"c", "v"}});
  REQUIRE(f.session->Commit().ok());
}

void RollbacksLeaveNothing(Fixture& f) {
  f.Put("changed", "old");
  f.Put("deleted", "old");
  REQUIRE(f.session->Begin().ok());
  REQUIRE(f.session->Put(kFirst, "changed", "new").ok());
  REQUIRE(f.session->Put(kFirst, "changed", "newer").ok());
  REQUIRE(f.session->Delete(kFirst, "deleted").ok());
  REQUIRE(f.session->Insert(kFirst, "inserted", "new").ok());
  REQUIRE(f.session->Insert(kSecond, "inserted", "new").ok());
  REQUIRE(f.session->Rollback().ok());
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "a", "z") == Rows{{"changed", "old"}, {"deleted", "old"}});
  CHECK(Read(*f.session, "inserted", kSecond) == "(none)");
  REQUIRE(f.session->Commit().ok());
}

void ClosedSessionsRollBack(Fixture& f) {
  f.Put("key", "old");
  {
    auto other = f.NewSession();
    REQUIRE(other->Begin().ok());
    REQUIRE(other->Put(kFirst, "key", "new").ok());
  }
  CHECK(ReadAlone(*f.session, "key") == "old");
  f.Put("key", "newer");
  CHECK(ReadAlone(*f.session, "key") == "newer");
}

void SessionsGoOn(Fixture& f) {
  for (int i = 0; i < 20; ++i) {
    REQUIRE(f.session->Begin().ok());
    CHECK(Read(*f.session, "never there") == "(none)");
    REQUIRE(f.session->Put(kFirst, "n", std::to_string(i)).ok());
    REQUIRE((i % 3 == 0 ? f.session->Rollback() : f.session->Commit()).ok());
  }
  CHECK(ReadAlone(*f.session, "n") == "19");
}

void SingleOperationsCommit(Fixture& f) {
  std::string value;
  CHECK(absl::IsNotFound(f.session->GetAuto(kFirst, "key", &value)));
  REQUIRE(f.session->PutAuto(kFirst, "key", "1").ok());
  REQUIRE(f.session->PutAuto(kFirst, "key", "2").ok());
  REQUIRE(f.session->GetAuto(kFirst, "key", &value).ok());
  CHECK(value == "2");
  CHECK(ReadAlone(*f.session, "key") == "2");
  REQUIRE(f.session->DeleteAuto(kFirst, "key").ok());
  CHECK(ReadAlone(*f.session, "key") == "(none)");
}

void ManyPutsAreOneTransaction(Fixture& f) {
  REQUIRE(f.session->PutManyAuto(kFirst, {}).ok());
  REQUIRE(f.session->PutAuto(kFirst, "b", "old").ok());
  const std::vector<KvRecord> records = {{"c", "3"}, {"a", "1"}, {"b", "2"}, {"c", "4"}};
  REQUIRE(f.session->PutManyAuto(kFirst, records).ok());
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "", "~") == Rows{{"a", "1"}, {"b", "2"}, {"c", "4"}});
  REQUIRE(f.session->Commit().ok());
}

void SortedRecordsAreLoaded(Fixture& f) {
  REQUIRE(f.session->PutAuto(kSecond, "other", "1").ok());
  Rows expected;
  for (int i = 0; i < 2500; ++i) expected.emplace_back(fmt::format("{:05}", i), std::to_string(i));
  size_t given = 0;
  REQUIRE(f.session
              ->LoadSorted(kFirst,
                           [&](KvRecord* record) {
                             if (given == expected.size()) return false;
                             *record = {expected[given].first, expected[given].second};
                             ++given;
                             return true;
                           })
              .ok());
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "", "~") == expected);
  std::string value;
  CHECK(f.session->Get(kSecond, "other", &value).ok());
  REQUIRE(f.session->Commit().ok());
  REQUIRE(f.session->PutAuto(kFirst, "00000", "new").ok());
  CHECK(ReadAlone(*f.session, "00000") == "new");
}

void RangesAreDeleted(Fixture& f) {
  const auto key = [](int i) { return fmt::format("{:05}", i); };
  constexpr int kKeys = 3000;
  REQUIRE(f.session->DeleteRangeAuto(kFirst, "a", "b").ok());  // of an empty table
  REQUIRE(f.session->Begin().ok());
  for (int i = 0; i < kKeys; ++i) REQUIRE(f.session->Put(kFirst, key(i), "1").ok());
  REQUIRE(f.session->Put(kSecond, key(20), "1").ok());
  REQUIRE(f.session->Commit().ok());
  for (const auto& [from, to] : {std::pair(key(10), key(10)),
                                 {key(20), key(10)},
                                 {"x", "y"},
                                 {key(10), key(2500)},
                                 {"", key(3)},
                                 {key(2990), "~"}}) {
    REQUIRE(f.session->DeleteRangeAuto(kFirst, from, to).ok());
  }
  Rows expected;
  for (int i = 3; i < 2990; ++i) {
    if (i < 10 || i >= 2500) expected.emplace_back(key(i), "1");
  }
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "", "~") == expected);
  std::string value;
  CHECK(f.session->Get(kSecond, key(20), &value).ok());
  REQUIRE(f.session->Commit().ok());
}

void PrefetchChangesNothing(Fixture& f) {
  f.Put("there", "1");
  REQUIRE(f.session->Begin().ok());
  const std::vector<TableKey> keys = {{kFirst, "there"}, {kFirst, "missing"}, {kSecond, "there"}};
  f.session->Prefetch(keys);
  f.session->Prefetch({});
  CHECK(Read(*f.session, "there") == "1");
  CHECK(Read(*f.session, "missing") == "(none)");
  REQUIRE(f.session->Commit().ok());
}

void ContentSurvivesReopening(Fixture& f) {
  f.Put("kept", "1");
  f.Put("deleted", "2");
  REQUIRE(f.session->Begin().ok());
  REQUIRE(f.session->Delete(kFirst, "deleted").ok());
  REQUIRE(f.session->Put(kSecond, "other", "3").ok());
  REQUIRE(f.session->Commit().ok());
  REQUIRE(f.backend->Checkpoint().ok());
  f.Put("after the checkpoint", "4");
  f.Reopen();
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "a", "z") == Rows{{"after the checkpoint", "4"}, {"kept", "1"}});
  CHECK(Read(*f.session, "other", kSecond) == "3");
  REQUIRE(f.session->Commit().ok());
}

void ReadersKeepTheirSnapshot(Fixture& f) {
  f.Put("a", "old");
  auto reader = f.NewSession();
  REQUIRE(reader->Begin().ok());
  CHECK(Read(*reader, "a") == "old");
  f.Put("a", "new");
  f.Put("b", "new");
  CHECK(Read(*reader, "a") == "old");
  CHECK(Read(*reader, "b") == "(none)");
  CHECK(ScanAll(*reader, "a", "z") == Rows{{"a", "old"}});
  CHECK(ScanAll(*reader, "a", "z", true) == Rows{{"a", "old"}});
  REQUIRE(reader->Commit().ok());
  CHECK(ReadAlone(*reader, "a") == "new");
}

void UncommittedIsInvisible(Fixture& f) {
  f.Put("a", "old");
  auto writer = f.NewSession();
  REQUIRE(writer->Begin().ok());
  REQUIRE(writer->Put(kFirst, "a", "new").ok());
  REQUIRE(writer->Insert(kFirst, "b", "new").ok());
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "a", "z") == Rows{{"a", "old"}});
  REQUIRE(f.session->Commit().ok());
  REQUIRE(writer->Commit().ok());
  CHECK(ReadAlone(*f.session, "b") == "new");
}

void NoUpdateIsLost(Fixture& f) {
  f.Put("counter", "1");
  auto late = f.NewSession();
  REQUIRE(late->Begin().ok());
  CHECK(Read(*late, "counter") == "1");
  f.Put("counter", "2");
  absl::Status status = late->Put(kFirst, "counter", "2 from 1");
  if (status.ok()) status = late->Commit();  // a backend may validate only here
  INFO(status.ToString());
  CHECK(absl::IsAborted(status));
  CHECK(ReadAlone(*f.session, "counter") == "2");
  // Aborted has ended the transaction, so the session begins the next one.
  REQUIRE(late->Begin().ok());
  CHECK(Read(*late, "counter") == "2");
  REQUIRE(late->Put(kFirst, "counter", "3").ok());
  REQUIRE(late->Commit().ok());
  CHECK(ReadAlone(*f.session, "counter") == "3");
}

void WritersAreIndependent(Fixture& f) {
  auto other = f.NewSession();
  REQUIRE(f.session->Begin().ok());
  REQUIRE(other->Begin().ok());
  REQUIRE(f.session->Put(kFirst, "a", "1").ok());
  REQUIRE(other->Put(kFirst, "b", "2").ok());
  REQUIRE(other->Commit().ok());
  REQUIRE(f.session->Commit().ok());
  CHECK(ReadAlone(*f.session, "a") == "1");
  CHECK(ReadAlone(*f.session, "b") == "2");
}

void RandomTransactionsMatchAMap(Fixture& f) {
  Rng rng(2026);
  std::map<std::string, std::string> committed;
  const auto random_key = [&rng] { return "key" + std::to_string(rng.Below(200)); };
  for (int transaction = 0; transaction < 150; ++transaction) {
    std::map<std::string, std::string> working = committed;
    REQUIRE(f.session->Begin().ok());
    for (uint64_t i = rng.Below(12); i-- > 0;) {
      const std::string key = random_key();
      if (rng.Below(3) == 0) {
        const bool there = working.erase(key) > 0;
        // A backend may answer the deletion of a missing key with NotFound or OK.
        const absl::Status status = f.session->Delete(kFirst, key);
        REQUIRE((status.ok() || (!there && absl::IsNotFound(status))));
      } else {
        const std::string value(rng.Below(300), static_cast<char>('a' + rng.Below(26)));
        working[key] = value;
        REQUIRE(f.session->Put(kFirst, key, value).ok());
      }
    }
    const std::string from = random_key(), to = random_key();
    const Rows seen = ScanAll(*f.session, from, to, transaction % 2 == 0);
    Rows expected;
    if (from < to) expected.assign(working.lower_bound(from), working.lower_bound(to));
    if (transaction % 2 == 0) expected = Rows(expected.rbegin(), expected.rend());
    REQUIRE(seen == expected);
    if (rng.Below(4) == 0) {
      REQUIRE(f.session->Rollback().ok());
    } else {
      REQUIRE(f.session->Commit().ok());
      committed = std::move(working);
    }
  }
  REQUIRE(f.session->Begin().ok());
  CHECK(ScanAll(*f.session, "", "z") == Rows(committed.begin(), committed.end()));
  REQUIRE(f.session->Commit().ok());
}

struct Behaviour {
  const char* sentence;
  void (*check)(Fixture&);
  Overlap needs = Overlap::kNone;  // tested if the backend allows at least this
  bool persistent = false;         // tested only if the backend is persistent
};

constexpr Behaviour kBehaviours[] = {
    {"a committed value is read back, from its table only", CommittedValuesAreRead, Overlap::kNone},
    {"a transaction sees its own writes", OwnWritesAreSeen, Overlap::kNone},
    {"a value is read for update, changed and read again", ValuesAreReadForUpdate, Overlap::kNone},
    {"keys and values hold any bytes, and values may be empty", AnyBytesAreKept, Overlap::kNone},
    {"a scan visits [from, to) in order, in both directions", ScansAreOrdered, Overlap::kNone},
    {"a scan of an empty range visits nothing", EmptyRangesAreEmpty, Overlap::kNone},
    {"a scan ends when its visitor has enough", ScansEndEarly, Overlap::kNone},
    {"a rollback leaves nothing of its transaction", RollbacksLeaveNothing, Overlap::kNone},
    {"a session that goes away takes its open transaction back", ClosedSessionsRollBack,
     Overlap::kNone},
    {"a session goes on after commits, rollbacks and missing keys", SessionsGoOn, Overlap::kNone},
    {"single operations are transactions of their own", SingleOperationsCommit, Overlap::kNone},
    {"many puts are one transaction", ManyPutsAreOneTransaction, Overlap::kNone},
    {"sorted records are loaded into an empty table", SortedRecordsAreLoaded, Overlap::kNone},
    {"a range is deleted, its end is not, and other tables keep their keys", RangesAreDeleted,
     Overlap::kNone},
    {"a prefetch changes nothing that is read", PrefetchChangesNothing, Overlap::kNone},
    {"what was committed is there after closing and opening again", ContentSurvivesReopening,
     Overlap::kNone, /*persistent=*/true},
    {"a reader keeps its snapshot while others commit", ReadersKeepTheirSnapshot,
     Overlap::kOneWriter},
    {"what is not committed is not seen by others", UncommittedIsInvisible, Overlap::kOneWriter},
    {"an update of what another has changed meanwhile is Aborted, not lost", NoUpdateIsLost,
     Overlap::kOneWriter},
    {"writers of different keys do not disturb one another", WritersAreIndependent, Overlap::kFull},
    {"random transactions leave what a map has", RandomTransactionsMatchAMap, Overlap::kNone},
};

// One database for all behaviours: opening a backend takes longer than all of them together.
TEST_CASE("every backend keeps what KvBackend promises") {
  const auto backend = GENERATE(from_range(EveryBackend()));
  Fixture f(backend);
  for (const Behaviour& behaviour : kBehaviours) {
    if (behaviour.needs > backend.overlap) continue;
    if (behaviour.persistent && !backend.persistent) continue;
    INFO(backend.name << ": " << behaviour.sentence);
    f.Clear();
    behaviour.check(f);
  }
}

TEST_CASE(
    "A backend keeps to every durability that it offers, and refuses the others with a reason") {
  for (const BackendUnderTest& under_test : EveryBackend()) {
    if (!under_test.persistent) continue;
    for (const Durability durability :
         {Durability::kNone, Durability::kGroup, Durability::kCommit}) {
      CAPTURE(under_test.name, static_cast<int>(durability));
      const TempDir directory;
      KvOptions options;
      options.path = directory.File("db");
      options.tables = {"first"};
      options.cache_bytes = 32ull << 20;
      options.durability = durability;
      auto backend = under_test.open(options);
      const KvTraits& traits = KvTraitsOf(under_test.name);
      if (!traits.Offers(durability)) {
        CHECK(absl::IsInvalidArgument(backend.status()));
        CHECK_FALSE(traits.durability_limits.empty());
        continue;
      }
      REQUIRE(backend.ok());
      auto session = (*backend)->NewSession();
      REQUIRE(session.ok());
      CHECK((*session)->PutAuto(kFirst, "key", "value").ok());
      session->reset();
      REQUIRE((*backend)->Close().ok());
      backend->reset();
      backend = under_test.open(options);
      REQUIRE(backend.ok());
      session = (*backend)->NewSession();
      std::string value;
      CHECK((*session)->GetAuto(kFirst, "key", &value).ok());
      CHECK(value == "value");
      session->reset();
      CHECK((*backend)->Close().ok());
    }
  }
}

/// Commits in both ways, then ends the process without closing anything.
[[noreturn]] void CommitAndDie(const BackendUnderTest& under_test, const KvOptions& options) {
  const auto backend = under_test.open(options);
  if (!backend.ok()) _exit(1);
  const auto session = (*backend)->NewSession();
  const bool committed =
      session.ok() && (*session)->PutAuto(kFirst, "alone", "1").ok() && (*session)->Begin().ok() &&
      (*session)->Put(kFirst, "in a transaction", "2").ok() && (*session)->Commit().ok();
  _exit(committed ? 0 : 1);
}

TEST_CASE("With durability commit, a commit that has returned survives the death of its process") {
  for (const BackendUnderTest& under_test : EveryBackend()) {
    if (!under_test.persistent) continue;
    CAPTURE(under_test.name);
    const TempDir directory;
    KvOptions options;
    options.path = directory.File("db");
    options.tables = {"first"};
    options.cache_bytes = 32ull << 20;
    options.durability = Durability::kCommit;
    const pid_t child = fork();
    if (child == 0) CommitAndDie(under_test, options);
    int ended = 0;
    REQUIRE(waitpid(child, &ended, 0) == child);
    REQUIRE((WIFEXITED(ended) && WEXITSTATUS(ended) == 0));
    const auto backend = under_test.open(options);
    INFO(backend.status().ToString());
    REQUIRE(backend.ok());
    auto session = (*backend)->NewSession();
    REQUIRE(session.ok());
    CHECK(ReadAlone(**session, "alone") == "1");
    CHECK(ReadAlone(**session, "in a transaction") == "2");
    session->reset();
    CHECK((*backend)->Close().ok());
  }
}

TEST_CASE("Announced keys are read as the transaction sees them: its snapshot and its own writes") {
  for (const BackendUnderTest& under_test : EveryBackend()) {
    if (under_test.overlap != Overlap::kFull) continue;
    CAPTURE(under_test.name);
    Fixture f(under_test);
    for (const char* key : {"a", "b", "c", "d"}) f.Put(key, "old");
    f.Put("a", "of the second table", kSecond);
    const auto other = f.NewSession();
    const std::vector<TableKey> keys = {{kFirst, "d"}, {kFirst, "a"},  {kFirst, "none"},
                                        {kFirst, "b"}, {kSecond, "a"}, {kFirst, "c"},
                                        {kFirst, "a"}};
    REQUIRE(f.session->Begin().ok());
    f.session->Prefetch(keys);
    CHECK(Read(*f.session, "a") == "old");
    REQUIRE(other->PutAuto(kFirst, "b", "new").ok());
    CHECK(Read(*f.session, "b") == "old");
    CHECK(Read(*f.session, "none") == "(none)");
    REQUIRE(f.session->Insert(kFirst, "none", "mine").ok());
    REQUIRE(f.session->Put(kFirst, "a", "mine").ok());
    REQUIRE(f.session->Delete(kFirst, "c").ok());
    f.session->Prefetch(keys);
    CHECK(Read(*f.session, "none") == "mine");
    CHECK(Read(*f.session, "a") == "mine");
    CHECK(Read(*f.session, "a", kSecond) == "of the second table");
    CHECK(Read(*f.session, "c") == "(none)");
    CHECK(Read(*f.session, "d") == "old");
    REQUIRE(f.session->Commit().ok());
    // The next transaction takes a new snapshot.
    REQUIRE(f.session->Begin().ok());
    CHECK(Read(*f.session, "b") == "new");
    CHECK(Read(*f.session, "c") == "(none)");
    REQUIRE(f.session->Rollback().ok());
  }
}

}  // namespace
}  // namespace latchkey::kv_conformance_test
