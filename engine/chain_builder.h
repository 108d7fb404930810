// ChainBuilder: writes the pages of one overflow chain (engine/overflow.h), from a value that comes in parts.
//
// Data pages go out as soon as they are full. Their ids stay in memory, 8 bytes a page, because the list pages are
// written last, back to front: so each list page knows its successor. The chain begins at the page that is written last.
//
// Thread-safety: one thread at a time.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

class ChainBuilder {
 public:
  /// Adds a page, which the function passed to it fills from zeros, and returns its id.
  using AddPage =
      absl::FunctionRef<absl::StatusOr<PageId>(absl::FunctionRef<void(std::byte*)> fill)>;

  explicit ChainBuilder(uint32_t page_size);

  /// Takes the memory for the ids of a value of `size` bytes.
  void Reserve(uint64_t size);
  /// Adds `part` to the value. After an error, or bad_alloc, pages() names all pages that were added, and no other call
  /// than pages() is allowed.
  absl::Status Append(std::string_view part, AddPage add);
  /// Writes the rest of the pages. Returns the first page of the chain. Errors as Append.
  absl::StatusOr<PageId> Finish(AddPage add);

  uint64_t size() const { return size_; }  ///< bytes of the value so far
  /// The end of the value, which no page holds yet: the whole value if no page was added.
  std::string_view unwritten() const { return tail_; }
  /// The pages added so far. No page refers to them before Finish.
  std::span<const PageId> pages() const { return pages_; }
  /// The same, for the caller to keep. Ends the builder.
  std::vector<PageId> TakePages() { return std::move(pages_); }

 private:
  absl::Status Add(AddPage add, absl::FunctionRef<void(std::byte*)> fill);
  absl::Status AddData(std::string_view data, AddPage add);

  const size_t data_payload_, list_payload_;
  uint64_t size_ = 0;
  std::string tail_;
  std::vector<PageId> pages_;
};

}  // namespace latchkey
