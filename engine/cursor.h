// Part of engine/latchkey.h, the one header to include.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace latchkey {

class CursorImpl;
class TransactionImpl;

/// An ordered walk, in both directions, through a range of one tree as the cursor's transaction
/// sees it. A new cursor stands before the range: call a Seek first. `key` and `value` stay valid
/// until the next move, whatever the transaction writes meanwhile.
///
/// A cursor shows the writes of its own transaction, including those after its Seek. It meets a
/// record that the transaction puts ahead of it, misses one put behind it, and skips one deleted
/// ahead of it. The loop below puts every record again under a key ahead of the cursor. It
/// therefore meets each record that it has put, and ends only when a Put fails:
///
///   for (row.SeekToFirst(); row.Valid(); row.Next()) {                    // WRONG
///     if (!txn.Put(tree, NextHigherId(), row.value()).ok()) break;
///   }
///
/// To put records ahead of a cursor, end its range before them (KeyRange::to), or gather the keys
/// first and write them after the walk. To change or delete the record that the cursor stands on is
/// always safe: the walk goes on behind that key, and ends.
class Cursor {
 public:
  ~Cursor();
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;

  void SeekToFirst();
  void SeekToLast();
  /// To the first key >= `key` (Seek) or the last key <= `key` (SeekForPrev) within the range.
  void Seek(std::string_view key);
  void SeekForPrev(std::string_view key);
  /// If the cursor is not Valid(), status() becomes FailedPrecondition, or stays the error that it
  /// was.
  void Next();
  void Prev();

  /// False at either end and after an error; status() tells the two apart.
  bool Valid() const;
  absl::Status status() const;
  std::string_view key() const;    ///< empty when not Valid()
  std::string_view value() const;  ///< empty when not Valid()

  struct Copies {
    size_t records = 0;
    size_t bytes = 0;   ///< of all records in the caller's memory
    size_t needed = 0;  ///< bytes of the next record if it had no room; 0 = it was not tried
  };
  /// Copies many records with one call: the record that the cursor stands on and those behind it
  /// (`forward`) or before it. Moves the cursor to the first record that was not copied. Ends after
  /// `max_records`, after the record with which keys and values reach `max_bytes`, before the first
  /// record that has no room in `to`, and at the end of the range. It copies at least one record, if
  /// the cursor is Valid() and the record has room. An error behind it ends the copies: see status().
  ///
  /// A copied record is four parts without padding: size of the key, size of the value (both uint32_t
  /// in the machine's byte order), key, value. The rest of `to` is unspecified afterwards.
  Copies CopyRecords(bool forward, size_t max_records, size_t max_bytes, std::span<char> to);

 private:
  friend class Transaction;
  explicit Cursor(absl::Status refusal);
  Cursor(std::shared_ptr<TransactionImpl> transaction, std::unique_ptr<CursorImpl> impl);
  std::shared_ptr<TransactionImpl> transaction_;  // declared before impl_, which uses it
  std::unique_ptr<CursorImpl> impl_;
  absl::Status refusal_;  // if impl_ is null: the reason; OK = this object was moved from
};

}  // namespace latchkey
