#include <latchkey/latchkey.h>

#include <iostream>

int main() {
  auto db = latchkey::Database::Open("accounts.db", {});
  if (!db.ok()) return std::cerr << db.status() << "\n", 1;
  auto accounts = (*db)->OpenTree("accounts");
  if (!accounts.ok()) return std::cerr << accounts.status() << "\n", 1;

  absl::Status status;
  do {  // Aborted: another transaction was first, so run it again
    latchkey::Transaction txn = (*db)->Begin();  // one snapshot; rolls back unless committed
    status = txn.Put(*accounts, "alice", "90");
    if (status.ok()) status = txn.Put(*accounts, "bob", "10");
    if (status.ok()) status = txn.Commit();
  } while (absl::IsAborted(status));
  {
    latchkey::Transaction reader = (*db)->Begin();
    latchkey::Cursor row = reader.NewCursor(*accounts, {.from = "a", .to = "c"});
    for (row.SeekToFirst(); row.Valid(); row.Next()) {
      std::cout << row.key() << " has " << row.value() << "\n";
    }
    status.Update(row.status());
  }
  status.Update((*db)->Close());  // durable since Commit: after a crash the next Open recovers
  return status.ok() ? 0 : (std::cerr << status << "\n", 1);
}
