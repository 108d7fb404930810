// lk_cursor_*.
#include <string>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

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

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_cursor_create(lk_txn txn, lk_tree tree, const lk_bytes* from, const lk_bytes* to,
                         lk_cursor* cursor, lk_error* error) {
  if (cursor == nullptr) return FailNull(error, "cursor");
  cursor->id = 0;
  return WithTransaction(txn, error, [&](Transaction& transaction) {
    if (!IsReadable(from)) return FailUnreadable(error, "the key from");
    if (!IsReadable(to)) return FailUnreadable(error, "the key to");
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
