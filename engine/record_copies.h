// The records that Cursor::CopyRecords has copied so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "engine/btree/node.h"
#include "engine/cursor.h"

namespace latchkey {

/// Writes records into memory of the caller of Cursor::CopyRecords, in the format that it tells.
class RecordCopies {
 public:
  /// A part is copied in pieces of up to so many bytes. So up to kSlack - 1 bytes behind it are read
  /// and copied, too; the next part overwrites them.
  static constexpr size_t kSlack = 32;

  RecordCopies(size_t max_records, size_t max_bytes, std::span<char> to)
      : max_records_(max_records),
        records_left_(max_records),
        bytes_left_(static_cast<int64_t>(std::clamp<size_t>(max_bytes, 1, INT64_MAX))),
        begin_(to.data()),
        to_(begin_),
        end_(begin_ + to.size()) {}

  /// Whether the limits allow another record.
  bool wants_more() const { return records_left_ > 0 && bytes_left_ > 0; }
  Cursor::Copies result() const {
    return {.records = max_records_ - records_left_,
            .bytes = static_cast<size_t>(to_ - begin_),
            .needed = needed_};
  }

  /// Copies a record. False: it has no room.
  bool Add(std::string_view key, std::string_view value) {
    if (!Begin(key.size(), value.size(), 0)) {
      needed_ = kSizes + key.size() + value.size();
      return false;
    }
    Append(key);
    Append(value);
    return true;
  }
  /// As Add of the key prefix + head + tail and of the value of `record`. False also if the room is
  /// tight: then use Add. REQUIRES: kSlack bytes can be read behind each part.
  bool TryAddParts(std::string_view prefix, const LatchedNodeView::RecordParts& record) {
    const size_t key_size = prefix.size() + record.head_size + record.tail.size();
    if (!Begin(key_size, record.value.size(), kSlack)) return false;
    AppendShort(prefix);
    std::memcpy(to_, &record.head, sizeof record.head);
    to_ += record.head_size;
    AppendShort(record.tail);
    AppendInPieces(record.value);
    return true;
  }

 private:
  static constexpr size_t kSizes = 2 * sizeof(uint32_t);

  /// Writes the sizes of a record. False if it and `slack` bytes have no room.
  bool Begin(size_t key_size, size_t value_size, size_t slack) {
    const size_t payload = key_size + value_size;
    if (kSizes + payload + slack > static_cast<size_t>(end_ - to_)) return false;
    const uint32_t sizes[2] = {static_cast<uint32_t>(key_size), static_cast<uint32_t>(value_size)};
    std::memcpy(to_, sizes, kSizes);
    to_ += kSizes;
    --records_left_;
    bytes_left_ -= static_cast<int64_t>(payload);
    return true;
  }
  void Append(std::string_view part) {
    if (!part.empty()) std::memcpy(to_, part.data(), part.size());
    to_ += part.size();
  }
  /// For parts that have mostly at most kShort bytes.
  void AppendShort(std::string_view part) {
    constexpr size_t kShort = 16;
    if (__builtin_expect(part.size() > kShort, 0)) return Append(part);
    std::memcpy(to_, part.data(), kShort);
    to_ += part.size();
  }
  void AppendInPieces(std::string_view part) {
    constexpr size_t kLong = 512;
    if (__builtin_expect(part.size() > kLong, 0)) return Append(part);
    char* const end = to_ + part.size();
    for (const char* from = part.data(); to_ < end; to_ += kSlack, from += kSlack) {
      std::memcpy(to_, from, kSlack);
    }
    to_ = end;
  }

  size_t max_records_;
  size_t records_left_;
  int64_t bytes_left_;
  char* begin_;
  char* to_;
  char* end_;
  size_t needed_ = 0;
};

}  // namespace latchkey
