// The records of the write-ahead log, after ARIES: physiological redo by page LSN, logical undo
// with compensation records, structure changes as one multi-page redo-only record.
//
// Redo applies a record to a page if the page's LSN is smaller, and sets it to the record's LSN. A
// page that the layout does not know has LSN 0: its first record is an image. A page that a later
// record frees is not redone at all. README.md says what each record means for analysis and undo.
//
//   OFFSET SIZE  FIELD
//        0    1  type                     LogRecordType
//        1    1  states                   changes: now (low 3 bits), 8 = a difference, before (high
//                                         4 bits); else 0
//        2    2  key size                 changes, kDropTree (the name); kImages: images; else 0
//        4    4  tree id                  changes, kDropTree; else how many ids the body lists
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
//   kCommit, kEnd            nothing
//   kCheckpoint              as of (8), next transaction id (8), chains (4), part (2), parts (2),
//                            transactions * {id (8), first (8), last (8)}, chain references * 16
//   kDropTree                root page id (8), name
//
// Types 1 and 2 were changes and compensations of an earlier format, with the old value whole: a
// log that holds any is refused.
//
// All integers are little-endian; nothing is aligned. Page ids are below kMaxPageIds, and so fit
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
#include "engine/log/value_difference.h"
#include "storage/base/ids.h"

namespace latchkey {

enum class LogRecordType : uint8_t {
  kImages = 3,      ///< redo-only: full images of pages, and pages freed, as one atomic change
  kAllocation = 4,  ///< pages that the transaction uses for a value: undo frees them
  kFree = 5,        ///< redo-only: pages given back
  kCommit = 6,
  kEnd = 7,            ///< rolled back, or dropped: nothing is left to undo or to do
  kCheckpoint = 8,     ///< transactions that run, overflow chains that wait for their readers
  kDropTree = 9,       ///< intent: recovery finishes a drop that has no kEnd
  kChange = 10,        ///< one record of one leaf, with its undo: RecordChange
  kCompensation = 11,  ///< a record of a leaf as it was earlier in the transaction: redo-only
};

struct LogRecordHeader {
  LogRecordType type = LogRecordType::kChange;
  TxnId txn{0};     ///< 0: outside any transaction, redo-only
  Lsn previous{0};  ///< of the same transaction
};

/// What a record of a leaf is: as OldState of the version store.
enum class RecordState : uint8_t { kAbsent = 0, kGhost = 1, kValue = 2, kOverflow = 3 };

/// kChange, kCompensation: the record of `key` in `page` becomes `now`; the undo of kChange makes
/// it `before` again, through the tree. The overflow chain of a `before` is superseded once the
/// transaction has committed, unless a later record of the transaction has it as `now` again
/// (rolled back to a savepoint); so kCompensation tells `before` as well when it is a chain that
/// the transaction wrote.
struct RecordChange {
  TreeId tree{0};  ///< kCatalogTree: the catalogue itself
  PageId page = kInvalidPageId;
  std::string_view key;
  RecordState now = RecordState::kAbsent;
  std::string_view now_bytes;
  RecordState before = RecordState::kAbsent;  ///< kCompensation: kOverflow or kAbsent
  std::string_view before_bytes;
  /// kCompensation: the record is as it was before the transaction's changes of it at or above this
  /// LSN, which undo therefore passes over.
  Lsn undone_from{0};
  /// The low half of the LSN that the page had before: a page with another one lacks changes.
  uint32_t page_lsn = 0;
  /// Decoded: a value became another value, and only how they differ was logged. Both `bytes` are
  /// empty; see BytesNow and BytesBefore.
  bool is_difference = false;
  DifferenceView difference{};
};
inline constexpr TreeId kCatalogTree{UINT32_MAX};

/// kImages: the content of a page after the change; the free middle of a page is left out and comes
/// back as zeros, and of the PageHeader only type and LSN are kept.
struct PageImage {
  PageId page = kInvalidPageId;
  /// Encoding: the page. Decoded: the bytes of the record from `hole_begin` on are those behind the
  /// hole; see ExpandImage.
  std::span<const std::byte> bytes;
  uint32_t hole_begin = 0, hole_end = 0;  ///< 32 <= begin <= end <= page size
  uint8_t page_type = 0;                  ///< decoded
};

/// A transaction that has logged and not ended.
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
/// The chain that a leaf's value refers to; first_page = kInvalidPageId when it is no reference.
OverflowChain ChainOf(std::string_view reference);

/// kCheckpoint: the state between the records below `as_of` and those from it on. What does not
/// fit into one record goes on in parts 1, 2, ... with the same `as_of`.
struct CheckpointPart {
  Lsn as_of{0};
  TxnId next_txn{0};  ///< above every id that a record below `as_of` names
  uint16_t part = 0, parts = 1;
};

/// A record, decoded. Views point into the record's bytes or this object. Reuse the object: its
/// vectors keep their memory.
struct LogRecord {
  LogRecordHeader header;
  RecordChange change;                          ///< kChange, kCompensation
  uint32_t page_size = 0;                       ///< kImages
  std::vector<PageImage> images;                ///< kImages
  std::vector<PageId> pages;                    ///< kImages, kFree: freed; kAllocation: allocated
  PageId chain = kInvalidPageId;                ///< kFree: the chain that `pages` are all of
  TreeId tree{0};                               ///< kDropTree
  PageId root = kInvalidPageId;                 ///< kDropTree
  std::string_view name;                        ///< kDropTree
  CheckpointPart checkpoint;                    ///< kCheckpoint
  std::vector<ActiveTransaction> transactions;  ///< kCheckpoint
  std::vector<OverflowChain> chains;            ///< kCheckpoint
};

/// Decodes any bytes: DataLoss when they are no record, naming what is wrong. Guarantees: sizes
/// fit, ids are below kMaxPageIds, states and types are known, image bounds hold for `page_size` of
/// the record, which is a valid one.
absl::Status DecodeLogRecord(std::span<const std::byte> bytes, LogRecord* record);

/// What the record's bytes are after a decoded change, where `value` is what they were before.
/// False: `value` is not of the size that a difference was taken from. `value` may change.
[[nodiscard]] bool BytesNow(const RecordChange& change, std::string* value);
/// As BytesNow, backwards.
[[nodiscard]] bool BytesBefore(const RecordChange& change, std::string* value);

/// Writes a decoded image to `page` (page_size bytes), with `lsn` in its header.
void ExpandImage(const PageImage& image, uint32_t page_size, Lsn lsn, std::byte* page);
/// The image of `page` as it stands, without its free middle: a view. REQUIRES: latched.
PageImage ImageOf(PageId id, std::span<const std::byte> page);

// ---- Encoding. Each pair: the size, and the function that fills exactly that many bytes.

inline constexpr size_t kLogRecordHeaderSize = 24;
inline constexpr size_t kLogRecordPageLsn = kLogRecordHeaderSize + 8;  ///< of changes: page_lsn
/// Of a change but its key and values: a kCompensation has `undone_from` besides.
inline constexpr size_t kLogChangeOverhead = kLogRecordHeaderSize + 12;
inline constexpr size_t kLogCompensationOverhead = kLogChangeOverhead + 8;

/// A change as it is logged: the values whole, or how they differ where that is shorter. Views what
/// `change` views, and `change` itself.
class ChangeEncoding {
 public:
  /// REQUIRES: key at most kMaxNodeKeySize, values at most MaxInlineValue. `type`: kChange or
  /// kCompensation, which is always whole.
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

size_t ImagesRecordSize(std::span<const PageImage> images, size_t freed);
void EncodeImages(const LogRecordHeader& header, std::span<const PageImage> images,
                  std::span<const PageId> freed, std::byte* to);

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

}  // namespace latchkey
