// Calls whose views lie in memory that the call, or the object behind it, writes to.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/testing/testing_database.h"

namespace latchkey::aliasing_test {
namespace {

// Values short enough to lie in the string itself, in the leaf, and in an overflow chain.
std::string Name(int i, size_t size) {
  std::string name = "n" + std::to_string(1000 + i);
  name.resize(std::max(size, name.size()), '.');
  return name;
}

class Chain {
 public:
  // Record i holds the key of record i + 1; the last one is missing.
  Chain(size_t key_size, int length) : db(OpenInMemory()), tree(TreeOrFail(*db, "t")) {
    for (int i = 0; i <= length; ++i) names.push_back(Name(i, key_size));
    for (int i = 0; i < length; ++i) {
      REQUIRE_OK(db->Put(tree, names[static_cast<size_t>(i)], names[static_cast<size_t>(i) + 1]));
    }
  }
  std::unique_ptr<Database> db;
  Tree tree;
  std::vector<std::string> names;
};

// Follows the chain with `get(string)`, which reads the record of the string into it.
template <typename Get>
void Follow(const Chain& chain, Get get) {
  std::string at = chain.names.front();
  for (size_t i = 1; i < chain.names.size(); ++i) {
    REQUIRE_OK(get(at));
    REQUIRE(at == chain.names[i]);
  }
  CHECK(absl::IsNotFound(get(at)));
}

TEST_CASE("A chain of records is followed in one string, whatever the read and the key's length") {
  const size_t key_size = GENERATE(0u, 15u, 16u, 100u, 1000u);
  Chain chain(key_size, 40);
  Follow(chain, [&](std::string& at) { return chain.db->Get(chain.tree, at, &at); });
  for (const Isolation isolation : {Isolation::kSnapshot, Isolation::kSerializable}) {
    Transaction txn = chain.db->Begin({.isolation = isolation});
    Follow(chain, [&](std::string& at) { return txn.Get(chain.tree, at, &at); });
    Follow(chain, [&](std::string& at) { return txn.GetForUpdate(chain.tree, at, &at); });
    Follow(chain, [&](std::string& at) { return txn.Get(chain.tree, at, &at); });
    REQUIRE_OK(txn.Commit());
  }
}

TEST_CASE("A key may be any part of the string that receives the value") {
  Chain chain(0, 3);
  const auto check = [&](auto get) {
    std::string text = "see " + chain.names[0] + " and go on";
    REQUIRE_OK(get(std::string_view(text).substr(4, chain.names[0].size()), &text));
    CHECK(text == chain.names[1]);
    text.reserve(500);
    text = "an end " + chain.names[1];
    REQUIRE_OK(get(std::string_view(text).substr(7), &text));
    CHECK(text == chain.names[2]);
  };
  check([&](std::string_view key, std::string* value) {
    return chain.db->Get(chain.tree, key, value);
  });
  Transaction txn = chain.db->Begin();
  check([&](std::string_view key, std::string* value) { return txn.Get(chain.tree, key, value); });
  check([&](std::string_view key, std::string* value) {
    return txn.GetForUpdate(chain.tree, key, value);
  });
}

TEST_CASE("A record read for update into its own key is the one that is locked and then written") {
  Chain chain(0, 10);
  Transaction txn = chain.db->Begin();
  std::string at = chain.names[0];
  REQUIRE_OK(txn.GetForUpdate(chain.tree, at, &at));
  REQUIRE(at == chain.names[1]);
  // Another transaction may write the record that was read about, not the one that was locked.
  Transaction other = chain.db->Begin();
  REQUIRE_OK(other.Put(chain.tree, chain.names[1], "other"));
  REQUIRE_OK(other.Commit());
  REQUIRE_OK(txn.Put(chain.tree, chain.names[0], "mine"));
  REQUIRE_OK(txn.Commit());
  std::string value;
  REQUIRE_OK(chain.db->Get(chain.tree, chain.names[0], &value));
  CHECK(value == "mine");
  REQUIRE_OK(chain.db->Get(chain.tree, chain.names[1], &value));
  CHECK(value == "other");
}

TEST_CASE("A serializable transaction remembers the key it has read, not the value read over it") {
  Chain chain(0, 10);
  const auto conflicts = [&](const std::string& changed) {
    Transaction txn = chain.db->Begin({.isolation = Isolation::kSerializable});
    std::string at = chain.names[2];
    REQUIRE_OK(txn.Get(chain.tree, at, &at));
    REQUIRE_OK(txn.Put(chain.tree, "elsewhere", at));
    REQUIRE_OK(chain.db->Put(chain.tree, changed, chain.names[3]));
    return absl::IsAborted(txn.Commit());
  };
  CHECK(conflicts(chain.names[2]));
  CHECK_FALSE(conflicts(chain.names[3]));
}

TEST_CASE("Large values are read over their keys, and old versions, too") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  const std::string large(100'000, 'x');
  REQUIRE_OK(db->Put(tree, "key", large));
  Transaction before = db->Begin();
  std::string value;
  REQUIRE_OK(before.Get(tree, "key", &value));
  REQUIRE_OK(db->Put(tree, "key", "small"));
  for (int i = 0; i < 2; ++i) {
    value = "key";
    REQUIRE_OK(before.Get(tree, value, &value));
    CHECK((value == large));
  }
  value = "key";
  REQUIRE_OK(db->Get(tree, value, &value));
  CHECK(value == "small");
  REQUIRE_OK(before.Commit());
}

TEST_CASE("A cursor's own key and value lead it, and are written by the transaction") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  const Tree copies = TreeOrFail(*db, "copies");
  const auto key_of = [](int i) { return std::to_string(10'000 + i); };
  for (int i = 0; i < 500; ++i) {
    const size_t size = i % 100 == 50 ? 20'000 : 50;
    REQUIRE_OK(db->Put(tree, key_of(i), key_of(i + 1) + std::string(size, 'v')));
  }
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(tree);
  int count = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++count) {
    const std::string key(cursor.key()), old_value(cursor.value());
    REQUIRE_OK(txn.Put(copies, cursor.key(), cursor.value()));
    REQUIRE_OK(txn.Put(copies, cursor.value().substr(0, 900), cursor.key()));
    std::string value;
    REQUIRE_OK(txn.Get(tree, cursor.key(), &value));
    REQUIRE((value == old_value));
    if (count % 3 == 0) REQUIRE_OK(txn.Put(tree, cursor.key(), cursor.value().substr(0, 10)));
    if (count % 3 == 1) REQUIRE_OK(txn.GetForUpdate(tree, cursor.key(), &value));
    REQUIRE((cursor.key() == key && cursor.value() == old_value));
    cursor.Seek(cursor.key());
    REQUIRE(cursor.key() == key);
    cursor.SeekForPrev(cursor.key());
    REQUIRE(cursor.key() == key);
  }
  REQUIRE_OK(cursor.status());
  CHECK(count == 500);
  // The value leads to the next record, the key may be deleted under the cursor.
  cursor.SeekToFirst();
  for (int i = 0; i < 20; ++i) {
    REQUIRE(cursor.key() == key_of(i));
    REQUIRE_OK(txn.Delete(tree, cursor.key()));
    cursor.Seek(cursor.value().substr(0, 5));
  }
  REQUIRE(cursor.key() == key_of(20));
  cursor.Seek(cursor.value());
  REQUIRE(cursor.key() == key_of(22));
  Cursor part = txn.NewCursor(tree, {.from = std::string(cursor.key()), .to = std::nullopt});
  part.SeekToFirst();
  CHECK(part.key() == cursor.key());
  REQUIRE_OK(txn.Commit());
  std::string value;
  REQUIRE_OK(db->Get(copies, key_of(50), &value));
  CHECK(value.size() == 20'005);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A batch copies what it is given") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  WriteBatch batch;
  std::string text = "key";
  batch.Put(tree, text, text);
  text = "changed";
  REQUIRE_OK(db->Write(batch));
  REQUIRE_OK(db->Get(tree, "key", &text));
  CHECK(text == "key");
}

}  // namespace
}  // namespace latchkey::aliasing_test
