// lk_begin, lk_txn_* and lk_cursor_*.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

static_assert(sizeof(Savepoint) == sizeof(lk_savepoint) && std::is_trivially_copyable_v<Savepoint>);

// ---- Beginning and ending.

/// The options that this library knows, of a caller with another size of the struct.
lk_code ReadBeginOptions(const lk_begin_options* given, BeginOptions* options, lk_error* error) {
  if (given == nullptr) return kOk;
  lk_begin_options known = LK_BEGIN_OPTIONS_INIT;
  const uint32_t size = given->struct_size;
  if (size < sizeof known || known.reserved != 0) {
    return Fail(error, LK_INVALID_ARGUMENT,
                "lk_begin_options has a struct_size that is too small: begin with "
                "LK_BEGIN_OPTIONS_INIT");
  }
  std::memcpy(&known, given, sizeof known);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const bool asks_for_more = known.reserved != 0 || std::any_of(bytes + sizeof known, bytes + size,
                                                                [](auto byte) { return byte; });
  if (asks_for_more) {
    return Fail(error, LK_INVALID_ARGUMENT,
                "lk_begin_options has members set that this version of the library lacks: leave "
                "them 0, or load a newer liblatchkey.so.0");
  }
  switch (known.isolation) {
    case LK_ISOLATION_DEFAULT:
      break;
    case LK_ISOLATION_SNAPSHOT:
      options->isolation = Isolation::kSnapshot;
      break;
    case LK_ISOLATION_SERIALIZABLE:
      options->isolation = Isolation::kSerializable;
      break;
    default:
      return Fail(error, LK_INVALID_ARGUMENT,
                  "isolation=" + std::to_string(known.isolation) +
                      ": give 0 (default), 1 (snapshot) or 2 (serializable)");
  }
  options->read_only = known.read_only != 0;
  return kOk;
}

using ReadCall = absl::Status (Transaction::*)(Tree, std::string_view, std::string*);

[[gnu::noinline]] lk_code ReadChecked(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value,
                                      lk_error* error, ReadCall read) noexcept {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return ReadInto(value, error, [&](std::string* text) {
      return (transaction.*read)(TreeOf(tree), ViewOf(key), text);
    });
  });
}

lk_code WriteInTransaction(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error,
                           absl::Status (Transaction::*write)(Tree, std::string_view,
                                                              std::string_view)) noexcept {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    if (!IsReadable(value)) return FailUnreadable(error, "the value");
    return Report(error, (transaction.*write)(TreeOf(tree), ViewOf(key), ViewOf(value)));
  });
}

// ---- Cursors.

lk_code TellRecord(const Cursor& cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  const bool stands = cursor.Valid();
  if (key != nullptr) *key = stands ? BytesOf(cursor.key()) : lk_bytes{nullptr, 0};
  if (value != nullptr) *value = stands ? BytesOf(cursor.value()) : lk_bytes{nullptr, 0};
  if (stands) return kOk;
  const absl::Status status = cursor.status();
  if (!status.ok()) return Fail(error, status);
  return Fail(error, LK_NOT_FOUND, "the cursor stands on no record: it is outside its range");
}

/// Runs `move(cursor)`, then tells the record. `target` is the argument of a seek.
template <typename Move>
lk_code MoveCursor(lk_cursor handle, lk_bytes target, lk_bytes* key, lk_bytes* value,
                   lk_error* error, Move move) noexcept {
  return With(cursors, "cursor", handle.id, error, [&](Cursor& cursor) {
    if (!IsReadable(target)) return FailUnreadable(error, "the key");
    move(cursor);
    return TellRecord(cursor, key, value, error);
  });
}
constexpr lk_bytes kNoTarget = {nullptr, 0};

void AppendRecord(const Cursor& cursor, std::string* packed) {
  const std::string_view key = cursor.key();
  const std::string_view value = cursor.value();
  const uint32_t sizes[2] = {static_cast<uint32_t>(key.size()),
                             static_cast<uint32_t>(value.size())};
  packed->append(reinterpret_cast<const char*>(sizes), sizeof sizes);
  packed->append(key);
  packed->append(value);
}

/// Copies records from where the cursor stands on; returns their number. Without memory for a record
/// behind the first, the cursor stays on it.
size_t AppendRecords(Cursor& cursor, bool forward, size_t max_records, size_t max_bytes,
                     std::string* packed) {
  size_t count = 0;
  size_t copied = 0;
  while (count < max_records && cursor.Valid() && (count == 0 || copied < max_bytes)) {
    const size_t before = packed->size();
    try {
      AppendRecord(cursor, packed);
    } catch (const std::bad_alloc&) {
      packed->resize(before);
      if (count == 0) throw;
      return count;
    }
    copied += cursor.key().size() + cursor.value().size();
    ++count;
    forward ? cursor.Next() : cursor.Prev();
  }
  return count;
}

std::optional<std::string> BoundOf(const lk_bytes* bound) {
  if (bound == nullptr) return std::nullopt;
  return std::string(ViewOf(*bound));
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_begin(lk_db db, const lk_begin_options* options, lk_txn* txn, lk_error* error) {
  if (txn == nullptr) return FailNull(error, "txn");
  txn->id = 0;
  return WithDatabase(db, error, [&](Database& database) {
    BeginOptions begin;
    const lk_code read = ReadBeginOptions(options, &begin, error);
    if (read != LK_OK) return read;
    Transaction transaction = database.Begin(begin);
    const absl::Status begun = transaction.status();
    if (!begun.ok()) return Fail(error, begun);
    return MakeHandle(transactions, "transaction", &txn->id, error, std::move(transaction));
  });
}

lk_code lk_txn_commit(lk_txn txn, lk_error* error) {
  Transaction* taken = transactions.Take(txn.id);
  if (taken == nullptr) return FailHandle(error, "transaction", txn.id);
  const lk_code code = Guarded(error, [&] { return Report(error, taken->Commit()); });
  if (code == LK_RESOURCE_EXHAUSTED) {
    transactions.GiveBack(txn.id);
  } else {
    transactions.Destroy(txn.id);
  }
  return code;
}

lk_code lk_txn_rollback(lk_txn txn, lk_error* error) {
  Transaction* taken = transactions.Take(txn.id);
  if (taken == nullptr) return FailHandle(error, "transaction", txn.id);
  const lk_code code = Guarded(error, [&] {
    const absl::Status status = taken->Rollback();
    // It is over already.
    if (status.code() == absl::StatusCode::kFailedPrecondition) return kOk;
    return Report(error, status);
  });
  transactions.Destroy(txn.id);
  return code;
}

lk_code lk_txn_get(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value, lk_error* error) {
  return ReadRecord(transactions.Find(txn.id), &Transaction::Get, tree, key, value, error,
                    [&] { return ReadChecked(txn, tree, key, value, error, &Transaction::Get); });
}

lk_code lk_txn_get_for_update(lk_txn txn, lk_tree tree, lk_bytes key, lk_value* value,
                              lk_error* error) {
  return ReadRecord(
      transactions.Find(txn.id), &Transaction::GetForUpdate, tree, key, value, error,
      [&] { return ReadChecked(txn, tree, key, value, error, &Transaction::GetForUpdate); });
}

lk_code lk_txn_put(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return WriteInTransaction(txn, tree, key, value, error, &Transaction::Put);
}

lk_code lk_txn_insert(lk_txn txn, lk_tree tree, lk_bytes key, lk_bytes value, lk_error* error) {
  return WriteInTransaction(txn, tree, key, value, error, &Transaction::Insert);
}

lk_code lk_txn_delete(lk_txn txn, lk_tree tree, lk_bytes key, lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(key)) return FailUnreadable(error, "the key");
    return Report(error, transaction.Delete(TreeOf(tree), ViewOf(key)));
  });
}

lk_code lk_txn_prefetch(lk_txn txn, const lk_tree* trees, const lk_bytes* keys, size_t count,
                        lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (count > 0 && trees == nullptr) return FailNull(error, "trees");
    if (count > 0 && keys == nullptr) return FailNull(error, "keys");
    std::vector<std::pair<Tree, std::string_view>> pairs;
    for (size_t i = 0; i < count; ++i) {
      if (!IsReadable(keys[i])) return FailUnreadable(error, "a key");
      pairs.emplace_back(TreeOf(trees[i]), ViewOf(keys[i]));
    }
    transaction.Prefetch(pairs);
    return kOk;
  });
}

lk_code lk_txn_set_savepoint(lk_txn txn, lk_savepoint* savepoint, lk_error* error) {
  if (savepoint == nullptr) return FailNull(error, "savepoint");
  *savepoint = {};
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    const absl::StatusOr<Savepoint> set = transaction.SetSavepoint();
    if (!set.ok()) return Fail(error, set.status());
    *savepoint = std::bit_cast<lk_savepoint>(*set);
    return kOk;
  });
}

lk_code lk_txn_rollback_to(lk_txn txn, lk_savepoint savepoint, lk_error* error) {
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    return Report(error, transaction.RollbackTo(std::bit_cast<Savepoint>(savepoint)));
  });
}

lk_code lk_cursor_create(lk_txn txn, lk_tree tree, const lk_bytes* from, const lk_bytes* to,
                         lk_cursor* cursor, lk_error* error) {
  if (cursor == nullptr) return FailNull(error, "cursor");
  cursor->id = 0;
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (from != nullptr && !IsReadable(*from)) return FailUnreadable(error, "the key from");
    if (to != nullptr && !IsReadable(*to)) return FailUnreadable(error, "the key to");
    Cursor made = transaction.NewCursor(TreeOf(tree), {.from = BoundOf(from), .to = BoundOf(to)});
    const absl::Status status = made.status();
    if (!status.ok()) return Fail(error, status);
    return MakeHandle(cursors, "cursor", &cursor->id, error, std::move(made));
  });
}

lk_code lk_cursor_seek_first(lk_cursor cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  return MoveCursor(cursor, kNoTarget, key, value, error, [](Cursor& c) { c.SeekToFirst(); });
}

lk_code lk_cursor_seek_last(lk_cursor cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  return MoveCursor(cursor, kNoTarget, key, value, error, [](Cursor& c) { c.SeekToLast(); });
}

lk_code lk_cursor_seek(lk_cursor cursor, lk_bytes target, lk_bytes* key, lk_bytes* value,
                       lk_error* error) {
  return MoveCursor(cursor, target, key, value, error,
                    [target](Cursor& c) { c.Seek(ViewOf(target)); });
}

lk_code lk_cursor_seek_for_prev(lk_cursor cursor, lk_bytes target, lk_bytes* key, lk_bytes* value,
                                lk_error* error) {
  return MoveCursor(cursor, target, key, value, error,
                    [target](Cursor& c) { c.SeekForPrev(ViewOf(target)); });
}

lk_code lk_cursor_next(lk_cursor cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  return MoveCursor(cursor, kNoTarget, key, value, error, [](Cursor& c) { c.Next(); });
}

lk_code lk_cursor_prev(lk_cursor cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  return MoveCursor(cursor, kNoTarget, key, value, error, [](Cursor& c) { c.Prev(); });
}

lk_code lk_cursor_current(lk_cursor cursor, lk_bytes* key, lk_bytes* value, lk_error* error) {
  return MoveCursor(cursor, kNoTarget, key, value, error, [](Cursor&) {});
}

lk_code lk_cursor_read(lk_cursor handle, int step, size_t max_records, size_t max_bytes,
                       lk_value* packed, size_t* count, lk_error* error) {
  if (count == nullptr) return FailNull(error, "count");
  *count = 0;
  return With(cursors, "cursor", handle.id, error, [&](Cursor& cursor) {
    if (step != 1 && step != -1) {
      return Fail(error, LK_INVALID_ARGUMENT,
                  "step=" + std::to_string(step) + ": give 1 (forward) or -1 (backward)");
    }
    if (max_records == 0) {
      return Fail(error, LK_INVALID_ARGUMENT, "max_records=0: give at least 1");
    }
    if (packed == nullptr) return FailNull(error, "packed");
    if (!cursor.Valid()) return TellRecord(cursor, nullptr, nullptr, error);
    return ReadInto(packed, error, [&](std::string* text) {
      text->clear();
      *count = AppendRecords(cursor, step == 1, max_records, max_bytes, text);
      return absl::OkStatus();
    });
  });
}

lk_code lk_cursor_release(lk_cursor cursor, lk_error* error) {
  return Release(cursors, "cursor", cursor.id, error);
}

}  // extern "C"
