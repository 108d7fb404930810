// The program that tools/check_instructions runs under callgrind: lookups and transactions on one
// thread, in a cache that holds all data. It makes the file `instructions` in the working
// directory.
//
//   latchkey_instructions lookups|transactions|logged-transactions
//
// Prints the number of calls, then the compiler. callgrind counts only the calling thread within
// Measure*: the engine's own threads are not counted.
#include <cstdio>
#include <memory>
#include <string>

#include "engine/latchkey.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

constexpr uint64_t kRecords = 20'000;
constexpr int kLookups = 20'000;
constexpr int kTransactions = 2'000;

std::string KeyOf(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "user%012llu", static_cast<unsigned long long>(number));
  return text;
}

struct Bench {
  std::unique_ptr<Database> db;
  Tree tree;
  Rng rng{42};
  std::string RandomKey() { return KeyOf(rng.Below(kRecords)); }
};

absl::Status Load(Bench& bench) {
  for (uint64_t first = 0; first < kRecords; first += 100) {
    Transaction txn = bench.db->Begin();
    for (uint64_t n = first; n < first + 100; ++n) {
      absl::Status put = txn.Put(bench.tree, KeyOf(n), std::string(100, 'v'));
      if (!put.ok()) return put;
    }
    absl::Status committed = txn.Commit();
    if (!committed.ok()) return committed;
  }
  return absl::OkStatus();
}

}  // namespace

/// One snapshot, `kLookups` uniform reads of existing records.
[[gnu::noinline]] absl::Status MeasureLookups(Bench& bench) {
  Transaction txn = bench.db->Begin();
  std::string value;
  for (int i = 0; i < kLookups; ++i) {
    absl::Status got = txn.Get(bench.tree, bench.RandomKey(), &value);
    if (!got.ok()) return got;
  }
  return txn.Commit();
}

/// `kTransactions` of four reads and two overwrites.
[[gnu::noinline]] absl::Status MeasureTransactions(Bench& bench) {
  std::string value;
  const std::string written(100, 'w');
  for (int i = 0; i < kTransactions; ++i) {
    Transaction txn = bench.db->Begin();
    absl::Status status;
    for (int read = 0; read < 4; ++read)
      status.Update(txn.Get(bench.tree, bench.RandomKey(), &value));
    for (int put = 0; put < 2; ++put)
      status.Update(txn.Put(bench.tree, bench.RandomKey(), written));
    status.Update(txn.Commit());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

namespace {

absl::Status Run(const std::string& what) {
  Options options;
  options.cache_bytes = 64ull << 20;
  options.durability = what == "logged-transactions" ? Durability::kGroup : Durability::kNone;
  auto db = Database::Open("instructions", options);
  if (!db.ok()) return db.status();
  Bench bench{*std::move(db), {}};
  auto tree = bench.db->OpenTree("records");
  if (!tree.ok()) return tree.status();
  bench.tree = *tree;
  absl::Status status = Load(bench);
  if (status.ok()) status = what == "lookups" ? MeasureLookups(bench) : MeasureTransactions(bench);
  status.Update(bench.db->Close());
  return status;
}

}  // namespace
}  // namespace latchkey

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what != "lookups" && what != "transactions" && what != "logged-transactions") {
    std::fprintf(stderr, "latchkey_instructions lookups|transactions|logged-transactions\n");
    return 2;
  }
  const absl::Status status = latchkey::Run(what);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 1;
  }
  std::printf("%d calls, compiled by %s\n",
              what == "lookups" ? latchkey::kLookups : latchkey::kTransactions, __VERSION__);
  return 0;
}
