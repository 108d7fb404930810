// Page images: pages as page compression writes them. An image keeps the page's header as it is,
// and the rest compressed. It is sealed as the page is, so the checksum proves the page that comes
// out.
//
//   OFFSET SIZE  FIELD
//        0    4  bytes of the compressed rest
//        4    1  codec (page_codec.h)
//        5    3  zero
//        8   32  header of the page (storage/page_format.h), sealed
//       40    n  bytes 32..page_size of the page, compressed
//
// The bytes behind an image, up to the end of its last slot, are zero.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "layout/geometry.h"
#include "layout/image/page_codec.h"
#include "storage/base/idle_objects.h"
#include "storage/base/ids.h"
#include "storage/page_format.h"

namespace latchkey {

/// Bytes of an image before the compressed ones.
inline constexpr size_t kImageOverhead = 40;

/// Packs pages for one writer. Not thread-safe.
class PagePacker {
 public:
  /// Packs nothing if the geometry's file has no page compression, or the codec is "none".
  PagePacker(const StoreGeometry& geometry, const PageCodecChoice& codec);

  /// The next page. It is packed when its image is first asked for.
  void Begin(const std::byte* page) {
    page_ = page;
    packed_.reset();
  }
  /// The image of that page, not sealed yet; empty when it would take as many slots as the page
  /// itself. Valid until the next Begin.
  std::span<const std::byte> image() {
    if (!packed_) packed_ = Pack();
    return *packed_;
  }
  /// Slots of an image.
  uint32_t SlotsOf(std::span<const std::byte> image) const {
    return static_cast<uint32_t>((image.size() + geometry_.slot_size() - 1) /
                                 geometry_.slot_size());
  }

 private:
  std::span<const std::byte> Pack();

  const StoreGeometry geometry_;
  const PageCodecChoice codec_;
  std::vector<std::byte> memory_;  // empty: packs nothing
  const std::byte* page_ = nullptr;
  std::optional<std::span<const std::byte>> packed_;
};

/// Seals an image of `page` as SealPage would seal the page. `page` is not changed.
void SealImage(std::span<std::byte> image, std::span<const std::byte> page, PageId id,
               uint32_t write_sequence, uint64_t database_id);

/// A page that was unpacked, in memory that the destructor gives back.
class UnpackedPage {
 public:
  /// Unpacks the image at the front of `slots`, which gives a page of `page_size` bytes that is not
  /// proved yet. Does not wait. DataLoss, with the id in the message: what is there is no image, or
  /// does not decompress. std::bad_alloc.
  static absl::StatusOr<UnpackedPage> Of(std::span<const std::byte> slots, PageId id,
                                         uint32_t page_size);
  UnpackedPage(UnpackedPage&&) = default;
  UnpackedPage& operator=(UnpackedPage&&) = default;
  ~UnpackedPage();

  std::span<const std::byte> span() const { return {memory_->data(), page_size_}; }

 private:
  using Memory = std::array<std::byte, kMaxPageSize>;
  explicit UnpackedPage(uint32_t page_size);
  static IdleObjects<Memory>& IdleMemory();

  std::unique_ptr<Memory> memory_;
  uint32_t page_size_;
};

/// Unpacks the image at the front of `slots` to `out`, which optimistic readers may still read.
/// Errors as UnpackedPage::Of.
absl::Status UnpackPage(std::span<const std::byte> slots, PageId id, std::span<std::byte> out);

/// Calls `visit` at each slot of the block at the front of `bytes` where an image may begin: its
/// codec is known, and it ends within `bytes`. `header` is that of the page; `page` is the page,
/// valid during the call, or empty if it does not decompress. For the salvage of damaged files,
/// which has no map.
void ForEachImage(std::span<const std::byte> bytes, uint32_t page_size,
                  absl::FunctionRef<void(uint32_t offset, std::span<const std::byte> header,
                                         std::span<const std::byte> page)>
                      visit);

/// Calls `visit` at each slot of the block at the front of `bytes` where a page of the database
/// begins that proves itself, whole or as an image. `taken` is the number of its bytes there;
/// `page` is valid during the call. `bytes`: the block and, if there is one, the next, where the
/// page may end. For programs that look into files with page compression from outside.
void ForEachProvenPage(
    std::span<const std::byte> bytes, uint32_t page_size, uint64_t database_id,
    absl::FunctionRef<void(uint32_t offset, uint32_t taken, std::span<const std::byte> page)>
        visit);

}  // namespace latchkey
