// Cursors: a walk over copies of leaves.
//
// A cursor copies one leaf at a time under an optimistic guard and walks through its copy, so a
// scan latches nothing and its views stay valid however long its owner takes. A copy whose mark the
// snapshot sees all of is final. On any other, each key is looked up in the version store and the
// guard is then validated: if the leaf has changed since it was copied (a rollback may have taken
// back what the copy shows), the cursor copies it anew and finds its key again.
//
// Thread-safety: belongs to its transaction's actor.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/btree/tree.h"
#include "engine/latchkey.h"
#include "engine/transaction_impl.h"
#include "engine/txn/read_set.h"

namespace latchkey {

class CursorImpl {
 public:
  /// A cursor over no tree (nullptr) answers InvalidArgument to everything.
  CursorImpl(TransactionImpl& transaction, TreeImpl* tree, KeyRange range);

  void SeekToFirst();
  void SeekToLast();
  void Seek(std::string_view key);
  void SeekForPrev(std::string_view key);
  void Next() { Step(/*forward=*/true); }
  void Prev() { Step(/*forward=*/false); }

  bool Valid() const { return valid_; }
  const absl::Status& status() const { return status_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  /// Ends the cursor with an error; another Seek may work.
  void Fail(absl::Status status);

 private:
  LatchedNodeView leaf() const { return {page_.get(), page_size_}; }
  void Step(bool forward);
  /// Copies the leaf of `target` and computes which of its slots lie in the range.
  bool LoadLeaf(const LeafTarget& target);
  /// From slot_ on in the given direction, to the first visible record of the range.
  void Settle(bool forward);
  /// Copies the leaf of key_ again; slot_ becomes the next candidate in the given direction.
  bool Reload(bool forward);
  bool LoadNeighbour(bool forward);
  bool FailLeadingBack();
  enum class Sight { kVisible, kInvisible, kStale };
  Sight Look();
  Sight ShowOverflow(std::string_view reference);
  void Start();
  /// For a serializable transaction: what a Seek or a step has read becomes part of a range, from
  /// where it began to the record it found or to the end.
  void NoteSeek(bool forward, std::optional<std::string_view> from);
  void NoteStep(bool forward);
  /// A copy that outlives the move, for NoteSeek; empty when nothing is noted.
  std::string CopyForRange(std::string_view key);
  absl::Status CheckUsable() const;

  TransactionImpl& transaction_;
  TreeImpl* const tree_;
  const KeyRange range_;
  const uint32_t page_size_;
  std::unique_ptr<std::byte[]> page_;
  OwnedFences fences_;
  OptimisticGuard guard_;
  bool leaf_is_final_ = false;  // the snapshot sees everything on the copy
  bool loaded_ = false;
  bool key_has_prefix_ = false;  // key_ begins with the prefix of the copy
  int32_t slot_ = 0;
  int32_t begin_slot_ = 0;  // slots [begin, end) of the copy lie in the range
  int32_t end_slot_ = 0;
  uint64_t writes_seen_ = 0;    // of the transaction, when the leaf was copied
  uint32_t leaves_walked_ = 0;  // in one direction, for the read-ahead
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
