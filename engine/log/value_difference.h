// The difference of two values of a record: few bytes if a transaction changes a few fields of a
// row. It leads from either value to the other, so one difference serves redo and undo.
//
//   values of one size     runs * {equal bytes before it (2), bytes that differ (2), their XOR}
//   values of two sizes    equal bytes at the front (2) and at the back (2), the middle of `now`,
//                          the middle of `before`
//
// Thread-safety: pure functions and values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey {

class ValueDifference {
 public:
  /// Views: both values stay as they are until Encode. REQUIRES: at most 65,535 bytes each.
  ValueDifference(std::string_view before, std::string_view now);

  size_t size() const { return size_; }  ///< bytes that Encode writes
  void Encode(std::byte* to) const;

 private:
  static constexpr size_t kMaxRuns = 12;
  struct Run {
    uint16_t equal = 0, differ = 0;  // bytes
  };

  void FindRuns();
  void FindMiddles();
  bool is_same_size() const { return before_.size() == now_.size(); }

  const std::string_view before_, now_;
  std::array<Run, kMaxRuns> runs_;  // one: of two sizes, what is equal at the front and the back
  size_t count_ = 0;
  size_t size_ = 0;
};

/// A decoded difference, between values of these sizes.
struct DifferenceView {
  std::string_view bytes;
  uint16_t before_size = 0, now_size = 0;
};
/// Whether the bytes, which may be any, are a difference between values of these sizes.
bool IsSound(const DifferenceView& difference);
/// Turns the value before into the value now. False, with `value` unchanged, if its size is not
/// that of the value before. REQUIRES: IsSound.
[[nodiscard]] bool ApplyForward(const DifferenceView& difference, std::string* value);
/// Turns the value now into the value before. As ApplyForward.
[[nodiscard]] bool ApplyBackward(const DifferenceView& difference, std::string* value);

}  // namespace latchkey
