// Secondary indexes: users are found by id, by e-mail address (unique) and by city (not unique).
//
//   users     id -> (e-mail, city)
//   by_email  e-mail -> id
//   by_city   (city, id) -> nothing
//
// A change of a user and of its index entries is one transaction, so the trees always agree.
#include <iostream>

#include "example.h"

using latchkey::KeyReader;
using latchkey::KeyWriter;
using latchkey::Transaction;

struct User {
  uint64_t id = 0;
  std::string email, city;
};

class Users {
 public:
  static absl::StatusOr<Users> Open(latchkey::Database* db) {
    Users users(db);
    if (absl::Status s = OpenTrees(db, {{"users", &users.users_},
                                        {"by_email", &users.by_email_},
                                        {"by_city", &users.by_city_}});
        !s.ok())
      return s;
    return users;
  }

  // Inserts or replaces the user. AlreadyExists: another user has this e-mail address.
  absl::Status Put(const User& user) {
    return db_->RunTransaction([&](Transaction& txn) -> absl::Status {
      absl::Status removed = RemoveIn(txn, user.id);
      if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
      const std::string id = KeyWriter().UInt(user.id).key();
      if (absl::Status s = txn.Insert(by_email_, user.email, id); !s.ok()) return s;
      if (absl::Status s = txn.Put(by_city_, CityKey(user), ""); !s.ok()) return s;
      return txn.Put(users_, id, KeyWriter().String(user.email).String(user.city).key());
    });
  }

  // NotFound: there is no such user.
  absl::Status Remove(uint64_t id) {
    return db_->RunTransaction([&](Transaction& txn) { return RemoveIn(txn, id); });
  }

  absl::StatusOr<User> FindByEmail(std::string_view email) {
    Transaction snapshot = db_->Begin({.read_only = true});  // both reads see the same moment
    std::string id, bytes;
    if (absl::Status s = snapshot.Get(by_email_, email, &id); !s.ok()) return s;
    if (absl::Status s = snapshot.Get(users_, id, &bytes); !s.ok()) return s;
    return Parse(id, bytes);
  }

  // In the order of their ids.
  absl::StatusOr<std::vector<User>> FindByCity(std::string_view city) {
    Transaction snapshot = db_->Begin({.read_only = true});
    const std::string prefix = KeyWriter().String(city).key();
    std::vector<std::string> ids;
    latchkey::Cursor row = snapshot.NewCursor(by_city_, latchkey::PrefixRange(prefix));
    for (row.SeekToFirst(); row.Valid(); row.Next())
      ids.emplace_back(row.key().substr(prefix.size()));
    if (!row.status().ok()) return row.status();
    // One call for all users: reads of pages that are not cached are in flight together.
    std::vector<std::optional<std::string>> records;
    if (absl::Status s = snapshot.MultiGet(
            users_, std::vector<std::string_view>(ids.begin(), ids.end()), &records);
        !s.ok()) {
      return s;
    }
    std::vector<User> users;
    for (size_t i = 0; i < ids.size(); ++i) {
      absl::StatusOr<User> user = Parse(ids[i], records[i].value());
      if (!user.ok()) return user.status();
      users.push_back(*std::move(user));
    }
    return users;
  }

 private:
  explicit Users(latchkey::Database* db) : db_(db) {}

  static std::string CityKey(const User& user) {
    return KeyWriter().String(user.city).UInt(user.id).key();
  }

  static absl::StatusOr<User> Parse(std::string_view id, std::string_view bytes) {
    User user;
    KeyReader parts(bytes);
    if (absl::Status s = KeyReader(id).UInt(&user.id); !s.ok()) return s;
    if (absl::Status s = parts.String(&user.email); !s.ok()) return s;
    if (absl::Status s = parts.String(&user.city); !s.ok()) return s;
    return user;
  }

  absl::Status RemoveIn(Transaction& txn, uint64_t id) {
    const std::string key = KeyWriter().UInt(id).key();
    std::string bytes;
    if (absl::Status s = txn.GetForUpdate(users_, key, &bytes); !s.ok()) return s;
    absl::StatusOr<User> old = Parse(key, bytes);
    if (!old.ok()) return old.status();
    if (absl::Status s = txn.Delete(by_email_, old->email); !s.ok()) return s;
    if (absl::Status s = txn.Delete(by_city_, CityKey(*old)); !s.ok()) return s;
    return txn.Delete(users_, key);
  }

  latchkey::Database* db_;
  latchkey::Tree users_, by_email_, by_city_;
};

int main(int argc, char** argv) {
  const auto db = OpenDatabase(argc, argv, "users.db");
  Users users = ValueOf(Users::Open(db.get()));

  Check(users.Put({1, "ann@example.com", "Oslo"}));
  Check(users.Put({2, "bob@example.com", "Lima"}));
  Check(users.Put({3, "cleo@example.com", "Oslo"}));
  absl::Status taken = users.Put({4, "ann@example.com", "Rome"});
  std::cout << "a second ann@example.com: " << absl::StatusCodeToString(taken.code()) << "\n";

  Check(
      users.Put({2, "bob@example.com", "Oslo"}));  // bob moves: his entry in by_city moves with him
  User bob = ValueOf(users.FindByEmail("bob@example.com"));
  std::cout << bob.email << " lives in " << bob.city << "\n";
  Check(users.Remove(1));
  std::vector<User> in_oslo = ValueOf(users.FindByCity("Oslo"));
  for (const User& user : in_oslo) std::cout << "in Oslo: " << user.id << " " << user.email << "\n";
  Check(db->Close());
}
