// The records of the write-ahead log, after ARIES: physiological redo by page LSN, logical undo
// with compensation records, structure changes as one multi-page redo-only record.
//
// Redo applies a record to a page if the page's LSN is smaller, and then sets it to the record's
// LSN. A page that the layout does not know has LSN 0: its first record is an image. Redo leaves
// alone a page that a later record frees. README.md says what each record means for analysis and
// undo.
//
//   OFFSET SIZE  FIELD
//        0    1  type                     LogRecordType
//        1    1  states                   changes: now (low 3 bits), 8 = a difference, before (high
//                                         4 bits); kImages: 1 = also ends the transaction, 2 = the
//                                         ids are detached; kDeleteRange: 1 = from, 2 = to; else 0
//        2    2  key size                 changes, kDropTree (the name), kDeleteRange (from), kSplit
//                                         (the separator); kImages: images; else 0
//        4    4  tree id                  changes, kDropTree, kDeleteRange; else how many ids the
//                                         body lists
//        8    8  transaction              0 = outside any
//       16    8  previous                 LSN of the transaction's record before this one; 0 = none
//       24       body
//
//   kChange                  page id (4), size of now (2), size of before (2), low half of the LSN
//                            that the page had (4), key; then now, before, or instead of both their
//                            ValueDifference
//   kCompensation            as kChange, and before the key: undone from (8)
//   kImages                  page size (4), zero (4), images * {page id (4), hole begin (4),
//                            hole end (4), page type (1), zero (3)}, freed ids * 4, then of each
//                            image its bytes [32, hole begin) and [hole end, page size)
//   kAllocation              page ids * 4
//   kFree                    first page of the chain that goes, 2^64-1 = none (8), page ids * 4
//   kBlindPut                as kChange; before: absent, whatever there was
//   kSplit                   page size (4), the image's entry as in kImages (16), page id (4),
//                            parent id (4), low halves of their LSNs before (4, 4), fence prefix
//                            length (4), separator, bytes of the image
//   kCommit, kEnd            nothing
//   kCheckpoint              as of (8), next transaction id (8), chains (4), part (2), parts (2),
//                            transactions * {id (8), first (8), last (8)}, chain references * 16
//   kDropTree                root page id (8), name
//   kDeleteRange             from, then to
//   kFreeSorted              ascending page ids: the first, then the differences; each in 7-bit
//                            groups, the lowest first, 128 = another follows
//
// Types 1 and 2 were changes and compensations of an earlier format, with the whole old value. A
// log that holds any of them is refused.
//
// All integers are little-endian. Nothing is aligned. Page ids are below kMaxPageIds, so they fit
// into 4 bytes.
//
// Thread-safety: pure functions and values.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/btree/node_format.h"
#include "engine/btree/record_state.h"
#include "engine/log/value_difference.h"
#include "storage/base/ids.h"

namespace latchkey {

enum class LogRecordType : uint8_t {
  kImages = 3,      ///< redo-only: images of whole pages, and freed pages, as one atomic change
  kAllocation = 4,  ///< pages that the transaction uses for a value; undo frees them
  kFree = 5,        ///< redo-only: freed pages
  kCommit = 6,
  kEnd = 7,            ///< end of a rollback or a drop: nothing is left to undo or to do
  kCheckpoint = 8,     ///< running transactions, and overflow chains that wait for their readers
  kDropTree = 9,       ///< intent: recovery finishes a drop without a kEnd
  kChange = 10,        ///< one record of one leaf, with its undo: RecordChange
  kCompensation = 11,  ///< redo-only: an earlier state of a leaf's record
  kDeleteRange = 12,   ///< commits a range delete; recovery finishes one without a kEnd
  kFreeSorted = 13,    ///< redo-only: as kFree, in a byte or two a page
  kBlindPut = 14,      ///< redo-only: a put that is also the commit of its transaction
  kSplit = 15,         ///< redo-only: a page was split; an image of the new page only
};

struct LogRecordHeader {
  LogRecordType type = LogRecordType::kChange;
  TxnId txn{0};     ///< 0 = outside any transaction, redo-only
  Lsn previous{0};  ///< of the same transaction
};

/// kChange, kCompensation, kBlindPut: the record of `key` in `page` becomes `now`. The undo of a kChange makes
/// it `before` again, through the tree. Once the transaction has committed, the overflow chain of a
/// `before` is superseded, unless a later record of the transaction has it as `now` again (rollback
/// to a savepoint). Therefore a kCompensation also has a `before` if that is a chain that the
/// transaction wrote.
struct RecordChange {
  TreeId tree{0};  ///< kCatalogTree: the catalogue itself
  PageId page = kInvalidPageId;
  std::string_view key;
  RecordState now = RecordState::kAbsent;
  std::string_view now_bytes;
  RecordState before = RecordState::kAbsent;  ///< kCompensation: kOverflow or kAbsent
  std::string_view before_bytes;
  /// kCompensation: the record is as it was before the transaction's changes of it at or above this
  /// LSN. Undo skips those changes.
  Lsn undone_from{0};
  /// The low half of the LSN that the page had before. A page with another one lacks changes.
  uint32_t page_lsn = 0;
  /// Decoded: a value became another value, and only their difference was logged. Both `bytes` are
  /// empty; see BytesNow and BytesBefore.
  bool is_difference = false;
  DifferenceView difference{};
};
inline constexpr TreeId kCatalogTree{UINT32_MAX};

/// kImages: the content of a page after the change. The free middle of a page is left out and is
/// restored as zeros. Of the PageHeader only type and LSN are kept.
struct PageImage {
  PageId page = kInvalidPageId;
  /// Encoding: the page. Decoded: the bytes of the record; from `hole_begin` on they are those
  /// behind the hole (see ExpandImage).
  std::span<const std::byte> bytes;
  uint32_t hole_begin = 0, hole_end = 0;  ///< 32 <= begin <= end <= page size
  uint8_t page_type = 0;                  ///< decoded
};

/// kSplit: `page` keeps its records left of `separator`, an image holds those of the new page to the
/// right, and `parent` gets the separator. Redo splits `page` as NodeEditor::SplitInto did.
struct PageSplit {
  PageId page = kInvalidPageId;
  PageId parent = kInvalidPageId;
  uint32_t page_lsn = 0, parent_lsn = 0;  ///< the low halves of the LSNs that the two had before
  uint32_t fence_prefix = 0;  ///< NodeView::fence_prefix_length of `page` after the split
  std::string_view separator;
};

/// kDeleteRange: the keys that go. Views.
struct LoggedRange {
  TreeId tree{0};
  std::optional<std::string_view> from;  ///< nullopt = unbounded
  std::optional<std::string_view> to;
};

/// A transaction that has logged and has not ended.
struct ActiveTransaction {
  TxnId id{0};
  Lsn first{0};  ///< its first record
  Lsn last{0};   ///< its newest record
};

/// An overflow chain by its reference in the leaf: first page, bytes of the value.
struct OverflowChain {
  PageId first_page = kInvalidPageId;
  uint64_t size = 0;
};
static_assert(sizeof(OverflowChain) == kOverflowReferenceSize);
/// The chain that a leaf's value refers to; first_page = kInvalidPageId if the value is no
/// reference.
OverflowChain ChainOf(std::string_view reference);

/// kCheckpoint: the state between the records below `as_of` and those from it on. If it does not
/// fit into one record, it continues in parts 1, 2, ... with the same `as_of`.
struct CheckpointPart {
  Lsn as_of{0};
  TxnId next_txn{0};  ///< above every id that a record below `as_of` names
  uint16_t part = 0, parts = 1;
};

/// A decoded record. Its views point into the record's bytes or into this object. Reuse the object:
/// its vectors keep their memory.
struct LogRecord {
  LogRecordHeader header;
  RecordChange change;                          ///< kChange, kCompensation, kBlindPut
  uint32_t page_size = 0;                       ///< kImages, kSplit
  std::vector<PageImage> images;                ///< kImages; kSplit: one, of the new page
  bool ends_transaction = false;                ///< kImages: as a kEnd behind it
  /// kImages, kFree, kFreeSorted: freed; kAllocation: allocated.
  std::vector<PageId> pages;
  /// kImages: roots of subtrees that no page refers to any more. Their transaction frees them.
  std::vector<PageId> detached;
  PageSplit split;                              ///< kSplit
  LoggedRange range;                            ///< kDeleteRange
  PageId chain = kInvalidPageId;                ///< kFree: the chain of which `pages` are the rest
  TreeId tree{0};                               ///< kDropTree
  PageId root = kInvalidPageId;                 ///< kDropTree
  std::string_view name;                        ///< kDropTree
  CheckpointPart checkpoint;                    ///< kCheckpoint
  std::vector<ActiveTransaction> transactions;  ///< kCheckpoint
  std::vector<OverflowChain> chains;            ///< kCheckpoint
};

/// Decodes any bytes. DataLoss, with the reason, if they are no record. Guarantees: sizes fit, ids
/// are below kMaxPageIds, states and types are known, image bounds hold for the record's
/// `page_size`, which is a valid one.
absl::Status DecodeLogRecord(std::span<const std::byte> bytes, LogRecord* record);

/// Turns `value`, the record's bytes before a decoded change, into its bytes after it. False:
/// `value` has not the size that the difference was taken from. `value` may change in that case,
/// too.
[[nodiscard]] bool BytesNow(const RecordChange& change, std::string* value);
/// As BytesNow, backwards.
[[nodiscard]] bool BytesBefore(const RecordChange& change, std::string* value);

/// Writes a decoded image to `page` (page_size bytes), with `lsn` in its header.
void ExpandImage(const PageImage& image, uint32_t page_size, Lsn lsn, std::byte* page);
/// The image of `page` as it is now, without its free middle: a view. REQUIRES: latched.
PageImage ImageOf(PageId id, std::span<const std::byte> page);

// ---- Encoding. Each pair: the size, and the function that fills exactly that many bytes.

inline constexpr size_t kLogRecordHeaderSize = 24;
inline constexpr size_t kLogRecordPageLsn = kLogRecordHeaderSize + 8;  ///< of changes: page_lsn
inline constexpr size_t kLogRecordSplitLsn =
    kLogRecordHeaderSize + 28;  ///< of splits: page_lsn, parent_lsn
/// Size of a change without its key and values; a kCompensation has `undone_from` in addition.
inline constexpr size_t kLogChangeOverhead = kLogRecordHeaderSize + 12;
inline constexpr size_t kLogCompensationOverhead = kLogChangeOverhead + 8;

/// A change as it is logged: the values whole, or their difference if that is shorter. Views
/// `change` and the bytes that it views.
class ChangeEncoding {
 public:
  /// REQUIRES: key at most kMaxNodeKeySize, values at most MaxInlineValue. `type`: kChange, or
  /// kCompensation or kBlindPut, which always hold the value whole.
  ChangeEncoding(LogRecordType type, const RecordChange& change);
  size_t size() const { return size_; }
  /// Fills size() bytes. `page_lsn`: see RecordChange.
  void Encode(const LogRecordHeader& header, uint32_t page_lsn, std::byte* to) const;

 private:
  const LogRecordType type_;
  const RecordChange& change_;
  std::optional<ValueDifference> difference_;
  size_t size_;
};

/// What a kImages record is besides a change of pages.
enum class ImagesKind : uint8_t {
  kChange = 0,
  kEnd = 1,     ///< also the end of its transaction
  kDetach = 2,  ///< its ids are detached subtrees, not freed pages
};
size_t ImagesRecordSize(std::span<const PageImage> images, size_t ids);
/// `ids`: the freed pages, or with kDetach the roots of detached subtrees.
void EncodeImages(const LogRecordHeader& header, std::span<const PageImage> images,
                  std::span<const PageId> ids, std::byte* to,
                  ImagesKind kind = ImagesKind::kChange);

size_t SplitRecordSize(const PageSplit& split, const PageImage& right);
/// `right`: of the new page.
void EncodeSplit(const LogRecordHeader& header, const PageSplit& split, const PageImage& right,
                 std::byte* to);

constexpr size_t AllocationRecordSize(size_t pages) { return kLogRecordHeaderSize + 4 * pages; }
void EncodeAllocation(const LogRecordHeader& header, std::span<const PageId> pages, std::byte* to);

constexpr size_t FreeRecordSize(size_t pages) { return kLogRecordHeaderSize + 8 + 4 * pages; }
void EncodeFree(const LogRecordHeader& header, PageId chain, std::span<const PageId> pages,
                std::byte* to);

/// kCommit, kEnd.
inline constexpr size_t kEndRecordSize = kLogRecordHeaderSize;
void EncodeEnd(const LogRecordHeader& header, std::byte* to);

constexpr size_t CheckpointRecordSize(size_t transactions, size_t chains) {
  return kLogRecordHeaderSize + 24 + 24 * transactions + 16 * chains;
}
void EncodeCheckpoint(const CheckpointPart& part, std::span<const ActiveTransaction> transactions,
                      std::span<const OverflowChain> chains, std::byte* to);

constexpr size_t DropTreeRecordSize(size_t name) { return kLogRecordHeaderSize + 8 + name; }
void EncodeDropTree(const LogRecordHeader& header, TreeId tree, PageId root, std::string_view name,
                    std::byte* to);

size_t DeleteRangeRecordSize(const LoggedRange& range);
void EncodeDeleteRange(const LogRecordHeader& header, const LoggedRange& range, std::byte* to);

/// REQUIRES: `pages` ascend strictly.
size_t FreeSortedRecordSize(std::span<const PageId> pages);
void EncodeFreeSorted(const LogRecordHeader& header, std::span<const PageId> pages, std::byte* to);

}  // namespace latchkey
