// Point reads in memory by the C interface and by the C++ interface, in one program:
//
//   latchkey_c_bench c|cxx READS      # 1 to 200,000
//
//   valgrind --tool=callgrind --toggle-collect=MeasureC latchkey_c_bench c 20000
//   valgrind --tool=callgrind --toggle-collect=MeasureCxx latchkey_c_bench cxx 20000
//
// Makes bench_c.db and bench_cxx.db in the working directory. The C++ side is linked in by archive, as
// an embedder links it; the C side is liblatchkey.so.
#include <latchkey/latchkey_c.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace {

constexpr int kRecords = 20'000;
constexpr int kMostReads = 200'000;

std::vector<std::string> keys;

void MakeKeys() {
  uint64_t state = 42;
  for (int i = 0; i < kMostReads; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    char text[24];
    std::snprintf(text, sizeof text, "user%012d", static_cast<int>((state >> 33) % kRecords));
    keys.emplace_back(text);
  }
}
std::string LoadKey(int number) {
  char text[24];
  std::snprintf(text, sizeof text, "user%012d", number);
  return text;
}

void Check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" [[gnu::noinline]] void MeasureC(lk_txn txn, lk_tree tree, int reads) {
  lk_value value = LK_VALUE_INIT;
  for (int i = 0; i < reads; ++i) {
    Check(lk_txn_get(txn, tree, lk_slice(keys[i].data(), keys[i].size()), &value, nullptr) ==
          LK_OK);
  }
  lk_value_release(&value);
}

extern "C" [[gnu::noinline]] void MeasureCxx(latchkey::Transaction& txn, latchkey::Tree tree,
                                             int reads) {
  std::string value;
  for (int i = 0; i < reads; ++i) Check(txn.Get(tree, keys[i], &value).ok());
}

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  const int reads = argc == 3 ? std::atoi(argv[2]) : 0;
  if ((mode != "c" && mode != "cxx") || reads < 1 || reads > kMostReads) {
    std::fprintf(stderr, "latchkey_c_bench c|cxx READS: READS from 1 to %d\n", kMostReads);
    return 2;
  }
  MakeKeys();
  const std::string record(100, 'v');
  lk_options options;
  lk_db c_db;
  lk_tree c_tree;
  lk_txn c_txn;
  Check(lk_options_create(&options, nullptr) == LK_OK);
  Check(lk_options_set(options, "durability", "none", nullptr) == LK_OK);
  Check(lk_open("bench_c.db", options, &c_db, nullptr) == LK_OK);
  Check(lk_open_tree(c_db, lk_text("t"), 1, &c_tree, nullptr) == LK_OK);
  auto db = latchkey::Database::Open("bench_cxx.db", {.durability = latchkey::Durability::kNone});
  Check(db.ok());
  auto tree = (*db)->OpenTree("t");
  Check(tree.ok());
  for (int i = 0; i < kRecords; ++i) {
    const std::string key = LoadKey(i);
    Check((*db)->Put(*tree, key, record).ok());
    Check(lk_put(c_db, c_tree, lk_slice(key.data(), key.size()),
                 lk_slice(record.data(), record.size()), nullptr) == LK_OK);
  }
  Check(lk_begin(c_db, nullptr, &c_txn, nullptr) == LK_OK);
  latchkey::Transaction txn = (*db)->Begin();
  if (mode == "c") {
    MeasureC(c_txn, c_tree, reads);
  } else {
    MeasureCxx(txn, *tree, reads);
  }
  Check(lk_txn_rollback(c_txn, nullptr) == LK_OK);
  Check(lk_close(c_db, nullptr) == LK_OK);
  return 0;
}
