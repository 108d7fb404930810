// Values that are too large for a leaf live in overflow chains; the leaf holds a reference.
//
//   REFERENCE (16 bytes): first page id (8), value size in bytes (8)
//
//   PAGE   OFFSET SIZE  FIELD
//               0   32  PageHeader      type kOverflow
//              32    8  next page id    of the next list page; 2^64-1 = last
//              40    4  page count      data pages listed here
//              44    4  payload size    bytes of the value held here; only when no page is listed
//              48  8*n  data page ids   or the payload
//   Data pages hold a PageHeader and nothing but payload.
//
// A value of up to (page size - 48) bytes takes one page. Larger ones list their data pages. A
// reader so knows all of them at once and can have many reads in flight. Every data page but the
// value's last is full. A list page without data pages is the only page of its chain.
//
// Chains are immutable: an update writes a new one. The version store decides when the old one is
// freed.
//
// With a log, a chain belongs to the transaction that writes it until that transaction commits. The
// transaction logs the allocation of each page before its image, and its rollback frees the pages.
// A chain is freed from its end to its beginning, one list page with its data pages in one atomic
// change, the first page last. So the rest that a crash leaves is still a chain.
// Undo after a crash frees the pages of an uncommitted chain in any order: nothing reads them any more.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/node_format.h"
#include "engine/chain_builder.h"
#include "engine/log/engine_log.h"
#include "storage/base/check.h"

namespace latchkey {

/// Offsets of the fields of a list page, bytes.
namespace overflow_page {
inline constexpr size_t kNext = 32, kPageCount = 40, kPayloadSize = 44, kContent = 48;
}

/// The bytes in a leaf that refer to a chain. Takes no memory of its own.
class OverflowReference {
 public:
  OverflowReference() = default;
  explicit OverflowReference(std::string_view bytes) : is_set_(true) {
    LATCHKEY_CHECK(bytes.size() == kOverflowReferenceSize);
    std::copy_n(bytes.data(), bytes.size(), bytes_.data());
  }
  bool empty() const { return !is_set_; }
  std::string_view view() const { return {bytes_.data(), is_set_ ? bytes_.size() : 0}; }
  operator std::string_view() const { return view(); }  // NOLINT: it is nothing but its bytes
  void clear() { is_set_ = false; }

 private:
  std::array<char, kOverflowReferenceSize> bytes_{};
  bool is_set_ = false;
};

/// Thread-safe. One actor writes a chain, many may read it.
class OverflowStore {
 public:
  explicit OverflowStore(BufferPool& pool, EngineLog* log = nullptr) : pool_(pool), log_(log) {
    waiting_.reserve(kMostWaiting);
  }

  /// Writes `value` to a new chain and returns the reference to it. An error leaves no pages
  /// behind. `txn`: the owner of the chain. REQUIRES, with a log: it has an id.
  absl::StatusOr<OverflowReference> Write(std::string_view value, LogTxn* txn = nullptr);
  /// The same for a value that comes in parts. `unfinished` holds the chain until its end; after an
  /// error the caller frees it (FreeUnfinished).
  absl::Status Append(ChainBuilder& unfinished, std::string_view part, LogTxn* txn = nullptr);
  absl::StatusOr<OverflowReference> Finish(ChainBuilder& unfinished, LogTxn* txn = nullptr);
  /// Frees pages to which nothing refers: those of an unfinished chain of `txn`. OutOfMemory: those
  /// that are left in *pages are not freed yet. After another error some stay allocated.
  absl::Status FreeUnfinished(std::span<const PageId>* pages, LogTxn* txn = nullptr);
  /// Writes a chain of pages that the caller keeps, also after an error: for bulk loads.
  static absl::StatusOr<OverflowReference> WriteChain(uint32_t page_size, std::string_view value,
                                                      ChainBuilder::AddPage add);
  /// Replaces *value by the value that `reference` refers to.
  absl::Status Read(std::string_view reference, std::string* value);
  /// Replaces *part by up to `size` bytes of the value from byte `offset` on: fewer at its end.
  /// Reads the list pages before them, but no other data pages.
  absl::Status ReadPart(std::string_view reference, uint64_t offset, size_t size,
                        std::string* part);
  /// The size of the value that `reference` refers to, bytes.
  static absl::StatusOr<uint64_t> SizeOf(std::string_view reference);
  /// Frees a chain. `txn`: the unfinished transaction that wrote it; nullptr = no transaction or
  /// snapshot needs it any more. If memory runs out, the caller may call again: without a log
  /// nothing has been freed by then; with a log the rest is still a chain.
  absl::Status Free(std::string_view reference, LogTxn* txn = nullptr);
  /// Keeps an unneeded chain that could not be freed for lack of memory until FreeWaiting. Takes no
  /// memory. False: kMostWaiting chains wait already. The pages of this one then stay lost as long
  /// as the file exists.
  bool FreeLater(std::string_view reference);
  static constexpr size_t kMostWaiting = 256;
  /// Frees the waiting chains. OutOfMemory: some still wait.
  absl::Status FreeWaiting();
  /// Calls `visit` for every page of the chain.
  absl::Status VisitPages(std::string_view reference,
                          absl::FunctionRef<absl::Status(PageId)> visit);

 private:
  struct ListPage;

  absl::StatusOr<PageId> AddPooledPage(LogTxn* txn, absl::FunctionRef<void(std::byte*)> fill);
  static OverflowReference ReferenceTo(PageId first_page, uint64_t size);
  absl::Status ReadList(PageId page, ListPage* list);
  /// Appends to *value up to `size` bytes of the data pages `pages`, from byte `skip` of the first on.
  absl::Status ReadData(std::span<const PageId> pages, size_t skip, size_t size,
                        std::string* value);
  absl::Status FreePages(LogTxn* txn, PageId chain, std::span<const PageId> pages);
  absl::Status FreeTail(LogTxn* txn, PageId before, const std::vector<PageId>& pages);
  bool IsEndless(size_t list_pages) const;
  size_t DataPayload() const;
  size_t InlinePayload() const;
  size_t ListedPages() const;

  BufferPool& pool_;
  EngineLog* const log_;
  SpinLatch waiting_latch_;
  std::vector<OverflowReference> waiting_;
};

}  // namespace latchkey
