// lk_cursor_*.
#include <algorithm>
#include <span>
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

constexpr size_t kSizesOfRecord = 2 * sizeof(uint32_t);
constexpr size_t kFirstRoom = 2048;

/// Copies records into a string. Its size is its room; it grows for a record that does not fit. Without
/// memory for a record behind the first, the cursor stays on it.
Cursor::Copies CopyIntoString(Cursor& cursor, bool forward, size_t max_records, size_t max_bytes,
                              std::string* text) {
  Cursor::Copies all;
  for (;;) {
    const size_t payload = all.bytes - all.records * kSizesOfRecord;
    if (all.records > 0 && (all.records == max_records || payload >= max_bytes)) return all;
    const Cursor::Copies more =
        cursor.CopyRecords(forward, max_records - all.records, max_bytes - payload,
                           std::span(*text).subspan(all.bytes));
    all.records += more.records;
    all.bytes += more.bytes;
    if (more.needed == 0) return all;
    try {
      text->resize(std::max({all.bytes + more.needed, 2 * all.bytes, kFirstRoom}));
    } catch (const std::bad_alloc&) {
      if (all.records == 0) throw;
      return all;
    }
  }
}

/// What is wrong with the arguments of a read of many records; kOk = nothing.
lk_code CheckReading(int step, size_t max_records, lk_error* error) {
  if (step != 1 && step != -1) {
    return Fail(error, LK_INVALID_ARGUMENT,
                "step=" + std::to_string(step) + ": give 1 (forward) or -1 (backward)");
  }
  if (max_records == 0) {
    return Fail(error, LK_INVALID_ARGUMENT, "max_records=0: give at least 1");
  }
  return kOk;
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
    const lk_code fit = CheckReading(step, max_records, error);
    if (fit != LK_OK) return fit;
    if (packed == nullptr) return FailNull(error, "packed");
    if (!cursor.Valid()) return TellRecord(cursor, nullptr, nullptr, error);
    std::string* const text = TextOf(packed);
    const Cursor::Copies copies = CopyIntoString(cursor, step == 1, max_records, max_bytes, text);
    packed->data = text->data();
    packed->size = copies.bytes;
    *count = copies.records;
    return kOk;
  });
}

lk_code lk_cursor_fill(lk_cursor handle, int step, size_t max_records, void* buffer,
                       size_t capacity, size_t* size, size_t* count, lk_error* error) {
  if (size == nullptr) return FailNull(error, "size");
  if (count == nullptr) return FailNull(error, "count");
  *size = *count = 0;
  return With(cursors, "cursor", handle.id, error, [&](Cursor& cursor) {
    const lk_code fit = CheckReading(step, max_records, error);
    if (fit != LK_OK) return fit;
    if (buffer == nullptr && capacity > 0) return FailNull(error, "buffer");
    if (!cursor.Valid()) return TellRecord(cursor, nullptr, nullptr, error);
    const Cursor::Copies copies = cursor.CopyRecords(step == 1, max_records, SIZE_MAX,
                                                     {static_cast<char*>(buffer), capacity});
    *count = copies.records;
    *size = copies.records > 0 ? copies.bytes : copies.needed;
    return kOk;
  });
}

lk_code lk_cursor_release(lk_cursor cursor, lk_error* error) {
  return Release(cursors, "cursor", cursor.id, error);
}

}  // extern "C"
