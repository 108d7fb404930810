// KeyWriter and KeyReader: keys that sort bytewise in the order of their parts.
//
//   unsigned   8 bytes, big-endian
//   signed     the same, with the sign bit flipped
//   double     IEEE 754, big-endian; the sign bit is flipped, or if it is set, all bits
//   string     its bytes, each 00 as 00 FF, then 00 01. So "a" < "a\0" < "ab", and what follows the
//              string decides only between equal strings.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/latchkey.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr char kZeroByte = '\x00', kEscape = '\xff', kEnd = '\x01';

bool TakeNumber(std::string_view* rest, uint64_t* number) {
  if (rest->size() < sizeof(*number)) return false;
  std::memcpy(number, rest->data(), sizeof(*number));
  *number = __builtin_bswap64(*number);
  rest->remove_prefix(sizeof(*number));
  return true;
}

bool TakeString(std::string_view* rest, std::string* value) {
  value->clear();
  for (size_t i = 0; i < rest->size(); ++i) {
    if ((*rest)[i] != kZeroByte) {
      value->push_back((*rest)[i]);
      continue;
    }
    if (++i == rest->size()) return false;
    if ((*rest)[i] == kEnd) {
      rest->remove_prefix(i + 1);
      return true;
    }
    if ((*rest)[i] != kEscape) return false;
    value->push_back(kZeroByte);
  }
  return false;
}

}  // namespace

KeyRange PrefixRange(std::string_view prefix) {
  KeyRange range{.from = std::string(prefix), .to = std::nullopt};
  std::string behind(prefix);
  while (!behind.empty() && behind.back() == '\xff') behind.pop_back();
  if (behind.empty()) return range;  // no key is behind those of the prefix
  behind.back() = static_cast<char>(static_cast<unsigned char>(behind.back()) + 1);
  range.to = std::move(behind);
  return range;
}

KeyWriter& KeyWriter::UInt(uint64_t value) {
  const uint64_t bytes = __builtin_bswap64(value);
  key_.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  return *this;
}

KeyWriter& KeyWriter::Int(int64_t value) { return UInt(static_cast<uint64_t>(value) ^ kSign); }

KeyWriter& KeyWriter::Double(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0;  // -0
  const auto bits = std::bit_cast<uint64_t>(value);
  return UInt((bits & kSign) != 0 ? ~bits : bits ^ kSign);
}

KeyWriter& KeyWriter::String(std::string_view value) {
  for (const char byte : value) {
    key_.push_back(byte);
    if (byte == kZeroByte) key_.push_back(kEscape);
  }
  key_.push_back(kZeroByte);
  key_.push_back(kEnd);
  return *this;
}

absl::Status KeyReader::Fail(std::string_view part) {
  failed_ = true;
  return InvalidArgument(
      "the key has no {} here ({} bytes are left): read the parts in the order in which KeyWriter "
      "was given them",
      part, rest_.size());
}

absl::Status KeyReader::UInt(uint64_t* value) {
  return !failed_ && TakeNumber(&rest_, value) ? absl::OkStatus() : Fail("integer");
}

absl::Status KeyReader::Int(int64_t* value) {
  uint64_t number = 0;
  LATCHKEY_RETURN_IF_ERROR(UInt(&number));
  *value = static_cast<int64_t>(number ^ kSign);
  return absl::OkStatus();
}

absl::Status KeyReader::Double(double* value) {
  uint64_t number = 0;
  if (failed_ || !TakeNumber(&rest_, &number)) return Fail("double");
  *value = std::bit_cast<double>((number & kSign) != 0 ? number ^ kSign : ~number);
  return absl::OkStatus();
}

absl::Status KeyReader::String(std::string* value) {
  return !failed_ && TakeString(&rest_, value) ? absl::OkStatus() : Fail("string");
}

}  // namespace latchkey
