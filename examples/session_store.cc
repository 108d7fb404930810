// A session store: a login makes a token, each request looks it up, and unused sessions expire.
//
//   sessions   token -> (time of expiry, user)
//   by_expiry  (time of expiry, token) -> nothing
//
// Both trees change in one transaction, so they always agree.
#include <iostream>
#include <random>

#include "example.h"

using latchkey::KeyReader;
using latchkey::KeyWriter;
using latchkey::Transaction;

constexpr uint64_t kLifetimeSeconds = 1800;
constexpr uint64_t kRenewAfterSeconds = 60;

class SessionStore {
 public:
  // A crash may lose the logins of the last 10 ms: these users log in again. In return a login waits for no device.
  static latchkey::Options DatabaseOptions() {
    latchkey::Options options;
    options.durability = latchkey::Durability::kGroup;
    options.cache_bytes = 64 << 20;
    return options;
  }

  static absl::StatusOr<SessionStore> Open(latchkey::Database* db) {
    SessionStore store(db);
    absl::Status status =
        OpenTrees(db, {{"sessions", &store.sessions_}, {"by_expiry", &store.by_expiry_}});
    if (!status.ok()) return status;
    return store;
  }

  // Returns the token of the new session.
  absl::StatusOr<std::string> Login(std::string_view user, uint64_t now) {
    std::string token = NewToken();
    absl::Status status =
        db_->RunTransaction([&](Transaction& txn) { return Store(txn, token, user, now); });
    if (!status.ok()) return status;
    return token;
  }

  // Returns the user of a session, and renews the session. NotFound: there is no such session, or it has expired.
  absl::StatusOr<std::string> Find(std::string_view token, uint64_t now) {
    std::string bytes, user;
    uint64_t expiry = 0;
    if (absl::Status s = db_->Get(sessions_, token, &bytes); !s.ok()) return s;
    if (absl::Status s = Parse(bytes, &expiry, &user); !s.ok()) return s;
    if (expiry <= now) return absl::NotFoundError("the session has expired");
    // Most requests only read: a session is renewed once a minute.
    if (expiry >= now + kLifetimeSeconds - kRenewAfterSeconds) return user;
    absl::Status status = db_->RunTransaction([&](Transaction& txn) -> absl::Status {
      if (absl::Status s = Remove(txn, token); !s.ok())
        return s;  // NotFound: the user logged out meanwhile
      return Store(txn, token, user, now);
    });
    if (!status.ok()) return status;
    return user;
  }

  absl::Status Logout(std::string_view token) {
    return db_->RunTransaction([&](Transaction& txn) { return Remove(txn, token); });
  }

  // Removes expired sessions, oldest first, at most 1,000 a transaction: a short transaction keeps few keys locked.
  // Returns their number.
  absl::StatusOr<int> RemoveExpired(uint64_t now) {
    constexpr int kMostOfATransaction = 1000;
    for (int total = 0;;) {
      int removed = 0;
      absl::Status status = db_->RunTransaction([&](Transaction& txn) -> absl::Status {
        removed = 0;  // this attempt may follow one that was Aborted
        latchkey::Cursor row =
            txn.NewCursor(by_expiry_, {.from = {}, .to = KeyWriter().UInt(now + 1).key()});
        for (row.SeekToFirst(); row.Valid() && removed < kMostOfATransaction;
             row.Next(), ++removed) {
          KeyReader key(row.key());
          uint64_t expiry = 0;
          std::string token;
          if (absl::Status s = key.UInt(&expiry); !s.ok()) return s;
          if (absl::Status s = key.String(&token); !s.ok()) return s;
          if (absl::Status s = Remove(txn, token); !s.ok()) return s;
        }
        return row.status();
      });
      if (!status.ok()) return status;
      total += removed;
      if (removed < kMostOfATransaction) return total;
    }
  }

 private:
  explicit SessionStore(latchkey::Database* db) : db_(db) {}

  static std::string NewToken() {
    std::random_device random;
    return KeyWriter()
        .UInt(uint64_t{random()} << 32 | random())
        .UInt(uint64_t{random()} << 32 | random())
        .key();
  }

  static absl::Status Parse(std::string_view session, uint64_t* expiry, std::string* user) {
    KeyReader parts(session);
    if (absl::Status s = parts.UInt(expiry); !s.ok()) return s;
    return parts.String(user);
  }

  absl::Status Store(Transaction& txn, std::string_view token, std::string_view user,
                     uint64_t now) {
    const uint64_t expiry = now + kLifetimeSeconds;
    if (absl::Status s = txn.Put(sessions_, token, KeyWriter().UInt(expiry).String(user).key());
        !s.ok())
      return s;
    return txn.Put(by_expiry_, KeyWriter().UInt(expiry).String(token).key(), "");
  }

  absl::Status Remove(Transaction& txn, std::string_view token) {
    std::string bytes, user;
    uint64_t expiry = 0;
    if (absl::Status s = txn.GetForUpdate(sessions_, token, &bytes); !s.ok()) return s;
    if (absl::Status s = Parse(bytes, &expiry, &user); !s.ok()) return s;
    if (absl::Status s = txn.Delete(by_expiry_, KeyWriter().UInt(expiry).String(token).key());
        !s.ok())
      return s;
    return txn.Delete(sessions_, token);
  }

  latchkey::Database* db_;
  latchkey::Tree sessions_, by_expiry_;
};

int main(int argc, char** argv) {
  const auto db = OpenDatabase(argc, argv, "sessions.db", SessionStore::DatabaseOptions());
  SessionStore sessions = ValueOf(SessionStore::Open(db.get()));

  // A server takes the seconds from its clock.
  std::string ann = ValueOf(sessions.Login("ann", 1000));
  std::string bob = ValueOf(sessions.Login("bob", 1000));
  for (int i = 0; i < 5000; ++i) Check(sessions.Login("guest", 1000).status());
  std::string user = ValueOf(sessions.Find(ann, 2000));  // renews the session
  std::cout << "at 2000 the request is from " << user << "\n";

  std::cout << "at 2900 bob's session: " << sessions.Find(bob, 2900).status().message() << "\n";
  int removed = ValueOf(sessions.RemoveExpired(2900));
  std::cout << removed << " sessions removed\n";
  user = ValueOf(sessions.Find(ann, 2900));
  std::cout << "at 2900 the request is from " << user << "\n";

  Check(sessions.Logout(ann));
  std::cout << "after the logout: "
            << absl::StatusCodeToString(sessions.Find(ann, 2901).status().code()) << "\n";
  Check(db->Close());
}
