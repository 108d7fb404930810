// What every function of the C interface does at its border: arguments checked, handles looked up,
// exceptions and statuses turned into codes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/c/handle_table.h"
#include "bindings/c/latchkey_c.h"
#include "engine/latchkey.h"

namespace latchkey::c {

// ---- The objects behind the handles.

using Databases = HandleTable<std::unique_ptr<Database>, 1>;
/// A transaction, and its value in parts that is not finished.
struct OpenTransaction : Transaction {
  explicit OpenTransaction(Transaction transaction) : Transaction(std::move(transaction)) {}
  std::optional<ValueWriter> value;
};
using Transactions = HandleTable<OpenTransaction, 2>;
using Cursors = HandleTable<Cursor, 3>;
using Batches = HandleTable<WriteBatch, 4>;
using OptionSets = HandleTable<Options, 5>;
using StatisticLists = HandleTable<std::vector<NamedStatistic>, 6>;
using NameLists = HandleTable<std::vector<std::string>, 7>;
using BulkLoaders = HandleTable<std::unique_ptr<BulkLoader>, 8>;
using BackupLists = HandleTable<std::vector<BackupInfo>, 9>;

extern Databases databases;
extern Transactions transactions;
extern Cursors cursors;
extern Batches batches;
extern OptionSets option_sets;
extern StatisticLists statistic_lists;
extern NameLists name_lists;
extern BulkLoaders bulk_loaders;
extern BackupLists backup_lists;

// ---- Errors.

constexpr lk_code kOk = LK_OK;  // the enumerator has a type of its own

/// Writes code and message to *error unless it is null; returns `code`.
lk_code Fail(lk_error* error, lk_code code, std::string_view message);
lk_code Fail(lk_error* error, const absl::Status& status);
/// `id` is no handle of a `kind` ("database"): InvalidArgument for 0, else FailedPrecondition.
lk_code FailHandle(lk_error* error, std::string_view kind, uint64_t id);
lk_code FailNull(lk_error* error, std::string_view argument);
/// `argument` ("the key") is {NULL, a size above 0}.
lk_code FailUnreadable(lk_error* error, std::string_view argument);
/// ResourceExhausted: no further handle.
lk_code FailTooMany(lk_error* error, std::string_view kind, uint64_t most);

/// A struct of the caller has no size that this library can use. `name`: its type.
lk_code FailStructSize(lk_error* error, std::string_view name);
/// A struct of the caller has members set that this library does not know.
lk_code FailUnknownMembers(lk_error* error, std::string_view name);

/// Of the exception that is being caught.
lk_code FailCaught(lk_error* error) noexcept;

inline lk_code Report(lk_error* error, const absl::Status& status) {
  return __builtin_expect(status.ok(), 1) ? kOk : Fail(error, status);
}

/// Runs `call`, which returns an lk_code, and lets no exception out.
template <typename Call>
lk_code Guarded(lk_error* error, Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return FailCaught(error);
  }
}

/// Runs `call(object)` for the object of a handle.
template <typename Table, typename Call>
lk_code With(Table& table, std::string_view kind, uint64_t id, lk_error* error,
             Call call) noexcept {
  auto* object = table.Find(id);
  if (__builtin_expect(object == nullptr, 0)) return FailHandle(error, kind, id);
  return Guarded(error, [&] { return call(*object); });
}
template <typename Call>
lk_code WithDatabase(lk_db db, lk_error* error, Call call) noexcept {
  return With(databases, "database", db.id, error,
              [&](std::unique_ptr<Database>& found) { return call(*found); });
}
template <typename Call>
lk_code WithTransaction(lk_txn txn, lk_error* error, Call call) noexcept {
  return With(transactions, "transaction", txn.id, error, call);
}

/// Makes an object and stores its handle in *id.
template <typename Table, typename... Arguments>
lk_code MakeHandle(Table& table, std::string_view kind, uint64_t* id, lk_error* error,
                   Arguments&&... arguments) {
  *id = table.Make(std::forward<Arguments>(arguments)...);
  return *id != 0 ? kOk : FailTooMany(error, kind, Table::kMostHandles);
}
template <typename Table>
lk_code Release(Table& table, std::string_view kind, uint64_t id, lk_error* error) noexcept {
  if (table.Take(id) == nullptr) return FailHandle(error, kind, id);
  return Guarded(error, [&] {
    table.Destroy(id);
    return kOk;
  });
}

// ---- Arguments.

/// Whether `bytes` can be read: {NULL, size above 0} cannot.
inline bool IsReadable(lk_bytes bytes) { return bytes.data != nullptr || bytes.size == 0; }
inline std::string_view ViewOf(lk_bytes bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}
inline lk_bytes BytesOf(std::string_view view) { return {view.data(), view.size()}; }

/// Copies the caller's options, which may be null, to *known, which has the defaults. Members beyond
/// those of this library must be 0. `name`: that of the type.
template <typename Struct>
lk_code ReadStruct(const Struct* given, std::string_view name, Struct* known, lk_error* error) {
  if (given == nullptr) return kOk;
  const uint32_t size = given->struct_size;
  if (size < sizeof(Struct)) return FailStructSize(error, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + sizeof(Struct), bytes + size, [](auto byte) { return byte != 0; })) {
    return FailUnknownMembers(error, name);
  }
  *known = *given;
  if constexpr (requires { known->reserved; }) {
    if (known->reserved != 0) return FailUnknownMembers(error, name);
  }
  return kOk;
}

/// Writes as much of `told` to *to as the caller was compiled with.
template <typename Struct>
lk_code WriteStruct(Struct told, std::string_view name, Struct* to, lk_error* error) {
  if (to->struct_size < sizeof(to->struct_size)) return FailStructSize(error, name);
  told.struct_size = to->struct_size;
  std::memcpy(to, &told, std::min<size_t>(to->struct_size, sizeof told));
  return kOk;
}

/// A bound of a range; null = unbounded.
inline std::optional<std::string> BoundOf(const lk_bytes* bound) {
  if (bound == nullptr) return std::nullopt;
  return std::string(ViewOf(*bound));
}
inline bool IsReadable(const lk_bytes* bound) { return bound == nullptr || IsReadable(*bound); }

/// The options of the C++ interface; InvalidArgument for a value that is none.
lk_code ReadIsolation(int32_t given, std::optional<Isolation>* isolation, lk_error* error);
lk_code ReadDurability(int32_t given, std::optional<Durability>* durability, lk_error* error);
lk_code ReadCommitOptions(const lk_commit_options* given, CommitOptions* options, lk_error* error);

inline Tree TreeOf(lk_tree tree) { return std::bit_cast<Tree>(tree); }
inline lk_tree HandleOf(Tree tree) { return std::bit_cast<lk_tree>(tree); }

/// A read of a record, straight: it is the call whose cost counts. `object` is that of the handle. If
/// it or an argument is unfit, `slow()` finds the error.
template <typename Object, typename Slow>
[[gnu::always_inline]] inline lk_code ReadRecord(
    Object* object, absl::Status (Object::*read)(Tree, std::string_view, std::string*),
    lk_tree tree, lk_bytes key, lk_value* value, lk_error* error, Slow slow) noexcept {
  const bool is_fit =
      object != nullptr && value != nullptr && value->owner != nullptr && IsReadable(key);
  if (__builtin_expect(!is_fit, 0)) return slow();
  auto* text = static_cast<std::string*>(value->owner);
  try {
    const absl::Status status = (object->*read)(TreeOf(tree), ViewOf(key), text);
    value->data = text->data();
    value->size = text->size();
    return Report(error, status);
  } catch (...) {
    return FailCaught(error);
  }
}

/// The string that *value shows; made if it has none.
inline std::string* TextOf(lk_value* value) {
  if (value->owner == nullptr) value->owner = new std::string;
  return static_cast<std::string*>(value->owner);
}
inline void Show(const std::string& text, lk_value* value) {
  value->data = text.data();
  value->size = text.size();
}

/// Lets `read(string*)`, which returns a Status, write the string that *value shows.
template <typename Read>
lk_code ReadInto(lk_value* value, lk_error* error, Read read) {
  if (value == nullptr) return FailNull(error, "value");
  std::string* text = TextOf(value);
  const absl::Status status = read(text);
  Show(*text, value);
  return Report(error, status);
}

}  // namespace latchkey::c
