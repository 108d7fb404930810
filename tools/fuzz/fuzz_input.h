// Reads structured values from the bytes of a fuzz input. Beyond the end it reads zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace latchkey {

/// A view; not thread-safe.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  size_t size() const { return rest_.size(); }

  template <typename T>
  T Take() {
    T value{};
    const std::string_view bytes = TakeBytes(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  /// At most `size` bytes: as many as are left.
  std::string_view TakeBytes(size_t size) {
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  /// Fills `out`, with zeros where the input ends.
  void Fill(std::span<std::byte> out) {
    std::fill(out.begin(), out.end(), std::byte{0});
    const std::string_view bytes = TakeBytes(out.size());
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  }

 private:
  std::string_view rest_;
};

/// Writes the same format, for seeds.
template <typename T>
void PutValue(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace latchkey
