// Ranges of keys, and keys of several parts. Part of latchkey.h, which includes it: programs include
// that one.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace latchkey {

/// A range of keys: `from` <= key < `to`; nullopt = unbounded.
struct KeyRange {
  std::optional<std::string> from;
  std::optional<std::string> to;
};

/// The keys that begin with `prefix`.
KeyRange PrefixRange(std::string_view prefix);

/// Builds keys whose bytewise order is the order of the parts: integers and doubles by value,
/// strings bytewise, a key of several parts by its first part, then its second. All keys of a tree
/// should have parts of the same types. A string takes two bytes more, and one for each zero byte.
///
///   PrefixRange(KeyWriter().String(customer).key())   // all keys of one customer
class KeyWriter {
 public:
  KeyWriter& Int(int64_t value);
  KeyWriter& UInt(uint64_t value);
  KeyWriter& Double(double value);  ///< -0 is 0; every NaN is the same value, above all others
  KeyWriter& String(std::string_view value);
  void Clear() { key_.clear(); }
  const std::string& key() const& { return key_; }
  std::string key() && { return std::move(key_); }

 private:
  std::string key_;
};

/// Reads the parts of a key of KeyWriter in their order. InvalidArgument, also for all later parts:
/// the key cannot have such a part there.
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : rest_(key) {}
  absl::Status Int(int64_t* value);
  absl::Status UInt(uint64_t* value);
  absl::Status Double(double* value);
  absl::Status String(std::string* value);
  bool at_end() const { return rest_.empty() && !failed_; }

 private:
  absl::Status Fail(std::string_view part);
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace latchkey
