// Distinct identifier types, so that a page id is never passed where a frame id is meant.
#pragma once

#include <cstdint>
#include <functional>

namespace latchkey {

/// Logical page number, dense from 0. The layout maps it to a place on the device.
enum class PageId : uint64_t {};
inline constexpr PageId kInvalidPageId = PageId{UINT64_MAX};
/// Page ids are below this bound: the translation array is sized for it (16 TiB of 4 KiB pages).
inline constexpr uint64_t kMaxPageIds = uint64_t{1} << 32;

/// Index of a frame in a buffer pool. Frame 0 is never used: 0 means "no frame" in a page word.
enum class FrameId : uint32_t {};
inline constexpr FrameId kNoFrame = FrameId{0};

/// Log sequence number: a byte position in the log, never reused. 0 = "never logged".
enum class Lsn : uint64_t {};

/// Identity of a writing transaction, from one increasing counter. 0 = none.
enum class TxnId : uint64_t {};

/// Commit timestamp: position in the commit order, from 1.
using CommitTs = uint64_t;

/// Identity of a tree within a database.
enum class TreeId : uint32_t {};

template <typename Id>
constexpr auto Raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace latchkey
