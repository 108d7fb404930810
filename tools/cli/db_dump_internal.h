// Shared by the writers and readers of dumps. The formats are in db_dump_format.h.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "engine/latchkey.h"
#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tools/cli/db_dump_format.h"

namespace latchkey::dump {

inline constexpr std::string_view kTextHeader = "latchkey-dump text 1";
inline constexpr std::string_view kBinaryMagic{"LKDUMP\r\n", 8};
/// What begins otherwise is no dump. What begins so, or ends before it could, may be a damaged one.
inline constexpr std::string_view kTextMark = kTextHeader.substr(0, 14);
inline constexpr std::string_view kBinaryMark = kBinaryMagic.substr(0, 6);
inline constexpr uint32_t kBinaryVersion = 1;
inline constexpr size_t kBinaryHeaderSize = 24;
inline constexpr size_t kBlockHeaderSize = 16;
inline constexpr size_t kRecordHeaderSize = 8;
inline constexpr size_t kEndSize = 24;
/// A block is closed when its payload reaches this size. It holds at least one record.
inline constexpr size_t kBlockTarget = size_t{1} << 18;
inline constexpr size_t kMaxBlock =
    kBlockTarget + kRecordHeaderSize + Database::kMaxKeySize + Database::kMaxValueSize;
/// Records between two check lines.
inline constexpr uint64_t kCheckInterval = 1000;

enum class BlockKind : uint32_t { kTree = 1, kRecords = 2, kEnd = 3 };

inline uint64_t BlockChecksum(uint64_t number, uint32_t kind, std::string_view payload) {
  return Hash64(payload, MixHash(number * 4 + kind) ^ MixHash(payload.size()));
}

/// The end of every message on a malformed dump.
inline constexpr std::string_view kTakeAgain = "take the dump again, or give an intact copy of it";

/// InvalidArgument: the file has the mark of no dump.
inline absl::Status NotADump() {
  return InvalidArgument(
      "it begins neither with \"{}\" nor with \"{}\": it is no dump; give a file that latchkey "
      "dump has written",
      kTextMark, kBinaryMark);
}

/// Called with the bytes read so far.
using Position = absl::FunctionRef<absl::Status(uint64_t)>;

absl::StatusOr<DumpSummary> ReadText(BufferedSource& source, DumpVisitor& visitor,
                                     Position position);
absl::StatusOr<DumpSummary> ReadBinary(BufferedSource& source, DumpVisitor& visitor,
                                       Position position);

}  // namespace latchkey::dump
