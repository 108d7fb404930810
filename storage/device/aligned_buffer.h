// Memory for direct I/O: aligned to 4096 bytes, zeroed, owned.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

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
  /// 2 MiB and advises the kernel to use huge pages. Throws std::bad_alloc, as `new` does.
  explicit AlignedBuffer(size_t size, HugePages huge_pages = HugePages::kNo) : size_(size) {
    const size_t alignment = huge_pages == HugePages::kAdvise ? kHugePage : kAlignment;
    const size_t capacity = (size + alignment - 1) / alignment * alignment;
    if (capacity == 0) return;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, capacity)));
    if (memory_ == nullptr) throw std::bad_alloc();
    if (huge_pages == HugePages::kAdvise) madvise(memory_.get(), capacity, MADV_HUGEPAGE);
    std::memset(memory_.get(), 0, capacity);
  }

  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {memory_.get(), size_}; }
  std::span<const std::byte> span() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  size_t size_ = 0;
};

}  // namespace latchkey
