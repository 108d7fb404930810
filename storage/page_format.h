// The header of every page on the device. It contains the page's proof: checksum, page id, database
// id (mixed into the checksum) and write sequence.
//
//   OFFSET SIZE  FIELD
//        0    8  checksum        XXH3-64 of bytes 8..page_size, seeded with the database id
//        8    8  page id
//       16    8  page LSN        of the newest log record applied to the page; 0 = never logged
//       24    4  write sequence  counts the writes of this page id; the map holds the expected one
//       28    1  page type       PageType; 0 = never written
//       29    3  zero
//
// All integers are little-endian. The layout sets checksum, page id and write sequence in the copy
// that it writes. The page's owner sets the other fields.
#pragma once

#include <absl/status/status.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "storage/base/ids.h"

namespace latchkey {

static_assert(std::endian::native == std::endian::little, "the page format is little-endian");

struct PageHeader {
  uint64_t checksum;
  uint64_t page_id;
  uint64_t lsn;
  uint32_t write_sequence;
  uint8_t page_type;
  uint8_t zero[3];
};
static_assert(sizeof(PageHeader) == 32);
inline constexpr size_t kPageHeaderSize = sizeof(PageHeader);

/// The header of a page, or of the first bytes of one: of at least kPageHeaderSize bytes.
inline PageHeader PageHeaderOf(std::span<const std::byte> page) {
  PageHeader header;
  std::memcpy(&header, page.data(), sizeof(header));
  return header;
}

inline constexpr uint32_t kMinPageSize = 4096;
inline constexpr uint32_t kMaxPageSize = 65536;
inline constexpr uint32_t kDefaultPageSize = 4096;

/// Whether `bytes` is a supported page size: a power of two in 4-64 KiB.
constexpr bool IsValidPageSize(uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kMinPageSize && bytes <= kMaxPageSize;
}

enum class PageType : uint8_t {
  kNone = 0,
  kTreeLeaf = 1,
  kTreeInner = 2,
  kOverflow = 3,
  kSegmentSummary = 16,  ///< not used: segments have no summaries
  kPageMap = 17,
  kSuperblock = 18,
  kLogReach = 19,  ///< in a doublewrite area: LSN up to which the log was durable
};

/// Stamps identity, write sequence and checksum into `page`, which is about to be written.
void SealPage(std::span<std::byte> page, PageId id, uint32_t write_sequence, uint64_t database_id);

/// As SealPage, of a page in two pieces: `header` is changed, `rest`, the bytes behind it, is not.
void SealHeader(std::span<std::byte> header, std::span<const std::byte> rest, PageId id,
                uint32_t write_sequence, uint64_t database_id);

/// Checks that `page` is page `id` of database `database_id` at write sequence `expected_sequence`.
/// Otherwise DataLoss; the message names the page, the expected and the found values.
absl::Status VerifyPage(std::span<const std::byte> page, PageId id, uint32_t expected_sequence,
                        uint64_t database_id);

}  // namespace latchkey
