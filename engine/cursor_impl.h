// Cursors: a walk over copies of leaves.
//
// A cursor copies one leaf at a time under an optimistic guard and walks through its copy. So a
// scan takes no latch, and its views stay valid until the next move. If the snapshot sees every
// transaction up to the copy's mark, the copy is final. Otherwise the cursor looks up each key in
// the version store and then validates the guard. If the leaf has changed since it was copied (a
// rollback may have undone a record of the copy), the cursor copies the leaf again and finds its
// key again.
//
// Thread-safety: belongs to its transaction's actor.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/btree/tree.h"
#include "engine/latchkey.h"
#include "engine/record_copies.h"
#include "engine/transaction_impl.h"
#include "engine/txn/read_set.h"

namespace latchkey {

class CursorImpl {
 public:
  /// Without a tree (nullptr) every call fails with InvalidArgument.
  CursorImpl(TransactionImpl& transaction, TreeImpl* tree, KeyRange range);
  /// Becomes a new cursor of the same transaction, and keeps its memory.
  void BeginAgain(TreeImpl* tree, KeyRange range);
  /// Whether its memory is worth keeping: it holds no large value.
  bool IsSmall() const { return value_buffer_.capacity() <= kMostKeptBytes; }

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view key);
  void SeekForPrev(std::string_view key);
  void Next() { Step(/*forward=*/true); }
  void Prev() { Step(/*forward=*/false); }

  bool Valid() const { return valid_; }
  const absl::Status& status() const { return status_; }
  /// Both are empty unless Valid().
  std::string_view key() const { return valid_ ? std::string_view(key_) : std::string_view(); }
  std::string_view value() const { return valid_ ? value_ : std::string_view(); }

  /// As Cursor::CopyRecords, into *copies. Defined in cursor_copy.cc.
  void CopyRecords(bool forward, RecordCopies* copies);

  /// Ends the cursor with an error. A later Seek may work.
  void Fail(absl::Status status);

 private:
  LatchedNodeView leaf() const { return {page_.get(), page_size_}; }
  void Step(bool forward);
  /// Whether the copy of the leaf alone tells what the transaction sees of it.
  bool LeafTells() const;
  /// Copies the records of the leaf behind (before) slot_. slot_ becomes that of the last record that
  /// was passed. REQUIRES: LeafTells().
  void CopyLeafRecords(bool forward, RecordCopies* copies);
  /// If slot_ was the last one of its leaf: the same for the records of the leaves behind (before) it.
  /// False: there is no further leaf, or it could not be read.
  bool CopyNextLeaves(bool forward, RecordCopies* copies);
  /// The loop of CopyLeafRecords, to before slot `end`.
  template <int32_t kStep>
  void CopyRun(int32_t end, RecordCopies* copies);
  /// Copies the leaf of `target` and computes the slots that lie in the range.
  bool LoadLeaf(const LeafTarget& target);
  /// Moves from slot_ in the given direction to the first visible record of the range.
  void Settle(bool forward);
  /// Copies the leaf of key_ again. slot_ becomes the next candidate in the given direction.
  bool Reload(bool forward);
  bool LoadNeighbour(bool forward);
  bool FailLeadingBack();
  enum class Sight { kVisible, kInvisible, kStale };
  Sight Look();
  bool IsHidden(std::string_view key) const;
  Sight ShowOverflow(std::string_view reference);
  void Start();
  /// For a serializable transaction: notes what a Seek or a step has read as part of a range, from
  /// the place where the move began to the record it found, or to the end of the range.
  void NoteSeek(bool forward, std::optional<std::string_view> from);
  void NoteStep(bool forward);
  /// A copy of `key` for NoteSeek that outlives the move. Empty if nothing is noted.
  std::string CopyForRange(std::string_view key);
  bool IsUsable() const {
    return tree_ != nullptr && transaction_.is_usable() && !tree_->is_dropped();
  }
  /// OK if IsUsable().
  absl::Status CheckUsable() const;
  /// For a step of a cursor that stands on no record or is no longer usable.
  void FailStep();

  static constexpr size_t kMostKeptBytes = 64 << 10;

  TransactionImpl& transaction_;
  TreeImpl* tree_;
  KeyRange range_;
  const uint32_t page_size_;
  std::unique_ptr<std::byte[]> page_;
  OwnedFences fences_;
  OptimisticGuard guard_;
  ScanPlace place_;
  std::vector<KeyRange> hidden_;  // records of the copy in these are deleted
  bool leaf_is_final_ = false;  // the snapshot sees everything on the copy
  bool loaded_ = false;
  bool key_has_prefix_ = false;  // key_ begins with the prefix of the copy
  int32_t slot_ = 0;
  int32_t begin_slot_ = 0;  // slots [begin, end) of the copy lie in the range
  int32_t end_slot_ = 0;
  uint64_t writes_seen_ = 0;    // writes of the transaction when the leaf was copied
  uint32_t leaves_walked_ = 0;  // leaves walked in one direction, for the read-ahead
  bool walked_forward_ = true;

  ReadSet::RangeId range_read_;

  bool valid_ = false;
  absl::Status status_;
  std::string key_;
  std::string_view value_;
  std::string value_buffer_;
  std::string target_key_;
};

}  // namespace latchkey
