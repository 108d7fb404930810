// What the public calls do at the border before they are forwarded: handles that a call cannot use
// are refused, and std::bad_alloc becomes a status.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/database_identity.h"
#include "engine/database_impl.h"
#include "engine/latchkey.h"
#include "engine/transaction_impl.h"
#include "engine/watch/latencies.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

/// The answer of an object that was moved from.
inline absl::Status MovedFrom(std::string_view type) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the {} is empty: it was moved to another object; use that one", type);
}

/// Whether `view` begins in the bytes of `string`: a call that writes to `string` would change it.
inline bool LiesIn(std::string_view view, const std::string& string) {
  const auto offset =
      reinterpret_cast<uintptr_t>(view.data()) - reinterpret_cast<uintptr_t>(string.data());
  return offset <= string.size();
}

/// A read of `key` into *value off the usual way: runs `read(copy of key)`.
template <typename Read>
[[gnu::noinline]] absl::Status ReadApart(std::string_view key, const std::string* value,
                                         Read read) {
  if (value == nullptr) {
    return absl::InvalidArgumentError(
        "the string that receives the value is a null pointer: pass the address of one");
  }
  return CatchOutOfMemory([&]() -> absl::Status { return read(std::string(key)); });
}
inline bool NeedsReadApart(std::string_view key, const std::string* value) {
  return __builtin_expect(value == nullptr || LiesIn(key, *value), 0);
}

/// Runs a call of a running transaction that uses a tree.
template <typename Call>
absl::Status OnTree(TransactionImpl& transaction, Tree tree, Call call) {
  if (__builtin_expect(!transaction.CanUse(tree), 0)) return transaction.Refuse(tree);
  return call(transaction, DatabaseIdentity::ImplOf(tree));
}

/// The same for a call that is timed as `kind` if its turn has come.
template <typename Call>
absl::Status OnTree(TransactionImpl& transaction, Tree tree, Timed kind, Call call) {
  return OnTree(transaction, tree, [&](TransactionImpl& running, TreeImpl& found) {
    return running.sampled().Measure(kind, [&] { return call(running, found); });
  });
}

/// Runs a call of a running transaction that uses no tree.
template <typename Call>
absl::Status Guarded(TransactionImpl& transaction, Call call) {
  return CatchOutOfMemory([&]() -> absl::Status {
    if (__builtin_expect(!transaction.is_usable(), 0)) return transaction.CheckUsable();
    return call(transaction);
  });
}

/// Runs a call of an open database that uses a tree.
template <typename Call>
absl::Status OnTree(DatabaseImpl& database, Tree tree, Call call) {
  if (__builtin_expect(!database.identity().CanUse(tree), 0)) {
    return database.identity().Refuse(tree);
  }
  return call(DatabaseIdentity::ImplOf(tree));
}

/// Runs a call of an open database that uses no tree.
template <typename Call>
absl::Status Guarded(DatabaseImpl& database, Call call) {
  return CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(database.identity().CheckOpen());
    return call(database);
  });
}

/// The same for a call that writes.
template <typename Call>
absl::Status GuardedWrite(DatabaseImpl& database, Call call) {
  return Guarded(database, [&](DatabaseImpl& open) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(open.CheckWritable());
    return call(open);
  });
}

}  // namespace latchkey
