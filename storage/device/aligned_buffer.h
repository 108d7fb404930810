// Memory for direct I/O: aligned to 4096 bytes, zeroed, owned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "storage/base/reserved_memory.h"

namespace latchkey {

enum class HugePages { kNo, kAdvise };

/// Move-only owner of zeroed memory aligned to kAlignment, usable as a buffer of any BlockDevice.
/// Not thread-safe; users that share the memory synchronise by themselves.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 4096;
  static constexpr size_t kHugePage = size_t{2} << 20;

  AlignedBuffer() = default;
  /// Allocates `size` bytes, rounded up inside to a multiple of the alignment. kAdvise aligns to
  /// 2 MiB and advises the kernel to use huge pages. A large buffer comes from the system, and goes
  /// back to it at once. Throws std::bad_alloc, as `new` does.
  explicit AlignedBuffer(size_t size, HugePages huge_pages = HugePages::kNo) : size_(size) {
    if (size == 0) return;
    const MemoryAdvice advice =
        huge_pages == HugePages::kAdvise ? MemoryAdvice::kHugePages : MemoryAdvice::kNone;
    memory_ = static_cast<std::byte*>(is_reserved() ? ReserveMemory(capacity(), advice)
                                                    : std::aligned_alloc(kAlignment, capacity()));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_, 0, capacity());
  }
  ~AlignedBuffer() { Free(); }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    if (this == &other) return *this;
    Free();
    memory_ = std::exchange(other.memory_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  std::byte* data() { return memory_; }
  const std::byte* data() const { return memory_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {memory_, size_}; }
  std::span<const std::byte> span() const { return {memory_, size_}; }

 private:
  // The heap keeps freed memory of a size for itself once the program has freed memory that large.
  static constexpr size_t kLeastReserved = size_t{128} << 10;

  size_t capacity() const { return (size_ + kAlignment - 1) / kAlignment * kAlignment; }
  bool is_reserved() const { return capacity() >= kLeastReserved; }
  void Free() {
    if (is_reserved()) return ReleaseMemory(memory_, capacity());
    std::free(memory_);
  }

  std::byte* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace latchkey
