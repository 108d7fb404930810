// Reading binary dumps.
#include <cstring>

#include "storage/base/status_macros.h"
#include "tools/cli/db_dump_internal.h"

namespace latchkey::dump {
namespace {

template <typename... Args>
absl::Status Bad(uint64_t offset, fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kDataLoss, "the dump is malformed at byte {}: {}; {}", offset,
                    fmt::format(format, std::forward<Args>(args)...), kTakeAgain);
}

uint64_t IntegerAt(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

class BinaryReader {
 public:
  BinaryReader(BufferedSource& source, DumpVisitor& visitor) : source_(source), visitor_(visitor) {}

  absl::Status ReadHeader();
  /// Sets `ended_` at the last block.
  absl::Status ReadBlock();
  bool ended() const { return ended_; }
  absl::Status CheckNothingFollows();
  const DumpSummary& summary() const { return summary_; }

 private:
  absl::Status Take(size_t size, const char* what, std::string* bytes);
  absl::Status OnTree(uint64_t offset);
  absl::Status OnRecords(uint64_t offset);
  absl::Status OnEnd(uint64_t offset);

  BufferedSource& source_;
  DumpVisitor& visitor_;
  DumpSummary summary_;
  std::string header_, payload_;
  uint64_t blocks_ = 0;
  bool in_tree_ = false, ended_ = false;
};

absl::Status BinaryReader::Take(size_t size, const char* what, std::string* bytes) {
  const uint64_t offset = source_.offset();
  bytes->clear();
  if (source_.Append(size, bytes)) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(source_.status());
  return Bad(offset, "it ends within {}: {} of {} bytes are there", what, bytes->size(), size);
}

absl::Status BinaryReader::ReadHeader() {
  const absl::Status taken = Take(kBinaryHeaderSize, "the header", &header_);
  LATCHKEY_RETURN_IF_ERROR(source_.status());
  const std::string_view mark = std::string_view(header_).substr(0, kBinaryMark.size());
  if (!kBinaryMark.starts_with(mark)) return NotADump();
  LATCHKEY_RETURN_IF_ERROR(taken);
  if (header_.substr(0, 8) != kBinaryMagic ||
      IntegerAt(header_, 16, 8) != Hash64(std::string_view(header_).substr(0, 16))) {
    return Bad(0, "the header is damaged");
  }
  const uint64_t version = IntegerAt(header_, 8, 4);
  if (version == kBinaryVersion) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the dump has version {}, this program reads version {}: use a newer program",
                    version, kBinaryVersion);
}

absl::Status BinaryReader::ReadBlock() {
  const uint64_t offset = source_.offset();
  LATCHKEY_RETURN_IF_ERROR(Take(kBlockHeaderSize, "the header of a block", &header_));
  const uint64_t size = IntegerAt(header_, 0, 4);
  const auto kind = static_cast<uint32_t>(IntegerAt(header_, 4, 4));
  if (size > kMaxBlock) return Bad(offset, "a block of {} bytes; at most {}", size, kMaxBlock);
  LATCHKEY_RETURN_IF_ERROR(Take(size, "a block", &payload_));
  if (IntegerAt(header_, 8, 8) != BlockChecksum(blocks_, kind, payload_)) {
    return Bad(offset, "block {} fails its checksum", blocks_);
  }
  ++blocks_;
  switch (static_cast<BlockKind>(kind)) {
    case BlockKind::kTree:
      return OnTree(offset);
    case BlockKind::kRecords:
      return OnRecords(offset);
    case BlockKind::kEnd:
      return OnEnd(offset);
  }
  return Bad(offset, "a block of kind {}; the kinds are 1 (tree), 2 (records) and 3 (end)", kind);
}

absl::Status BinaryReader::OnTree(uint64_t offset) {
  if (payload_.empty() || payload_.size() > Database::kMaxTreeNameSize) {
    return Bad(offset, "a tree name of {} bytes; names have 1 to {}", payload_.size(),
               Database::kMaxTreeNameSize);
  }
  in_tree_ = true;
  summary_.AddTree(payload_);
  return visitor_.OnTree(payload_);
}

absl::Status BinaryReader::OnRecords(uint64_t offset) {
  if (!in_tree_) return Bad(offset, "records before the first tree");
  const std::string_view all = payload_;
  for (size_t at = 0; at < all.size();) {
    const uint64_t here = offset + kBlockHeaderSize + at;
    if (all.size() - at < kRecordHeaderSize) return Bad(here, "a record is cut off");
    const uint64_t key_size = IntegerAt(all, at, 4);
    const uint64_t value_size = IntegerAt(all, at + 4, 4);
    at += kRecordHeaderSize;
    if (key_size > Database::kMaxKeySize || value_size > Database::kMaxValueSize) {
      return Bad(here, "a key of {} and a value of {} bytes; at most {} and {}", key_size,
                 value_size, Database::kMaxKeySize, Database::kMaxValueSize);
    }
    if (all.size() - at < key_size + value_size) return Bad(here, "a record is cut off");
    const std::string_view key = all.substr(at, key_size);
    const std::string_view value = all.substr(at + key_size, value_size);
    at += key_size + value_size;
    summary_.AddRecord(key, value);
    LATCHKEY_RETURN_IF_ERROR(visitor_.OnRecord(key, value));
  }
  return absl::OkStatus();
}

absl::Status BinaryReader::OnEnd(uint64_t offset) {
  if (payload_.size() != kEndSize) {
    return Bad(offset, "an end of {} bytes in place of {}", payload_.size(), kEndSize);
  }
  if (IntegerAt(payload_, 0, 8) != summary_.trees ||
      IntegerAt(payload_, 8, 8) != summary_.records ||
      IntegerAt(payload_, 16, 8) != summary_.digest) {
    return Bad(offset, "the end counts {} trees and {} records, there were {} and {}",
               IntegerAt(payload_, 0, 8), IntegerAt(payload_, 8, 8), summary_.trees,
               summary_.records);
  }
  ended_ = true;
  return absl::OkStatus();
}

absl::Status BinaryReader::CheckNothingFollows() {
  if (source_.Peek() != BufferedSource::kEnd) return Bad(source_.offset(), "bytes behind the end");
  return source_.status();
}

}  // namespace

absl::StatusOr<DumpSummary> ReadBinary(BufferedSource& source, DumpVisitor& visitor,
                                       Position position) {
  BinaryReader reader(source, visitor);
  LATCHKEY_RETURN_IF_ERROR(reader.ReadHeader());
  while (!reader.ended()) {
    LATCHKEY_RETURN_IF_ERROR(reader.ReadBlock());
    LATCHKEY_RETURN_IF_ERROR(position(source.offset()));
  }
  LATCHKEY_RETURN_IF_ERROR(reader.CheckNothingFollows());
  return reader.summary();
}

}  // namespace latchkey::dump
