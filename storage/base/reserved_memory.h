// Large zeroed memory directly from the system. Only touched pages take memory, and a reservation
// is released as a whole.
#pragma once

#include <cstddef>
#include <new>
#include <span>

namespace latchkey {

enum class MemoryAdvice { kNone, kHugePages };

/// Maps `bytes` of zeroed memory, which takes physical memory only where it is touched. Aligned to
/// the system's page; with kHugePages aligned to 2 MiB and advised to use huge pages. nullptr when
/// the system refuses.
void* ReserveMemory(size_t bytes, MemoryAdvice advice);
/// Whether huge pages are worth their cost for `bytes` of memory. The cost: the system zeroes a
/// whole huge page when its first byte is touched.
constexpr bool HugePagesPay(size_t bytes) { return bytes >= size_t{16} << 20; }

/// From now on advises huge pages for [start, start + bytes), a part of a reservation.
void AdviseHugePages(void* start, size_t bytes);
/// Gives the physical memory of [start, start + bytes) back; the addresses stay valid and read
/// zero. REQUIRES: start and bytes are multiples of 4096 within one reservation.
void DiscardMemory(void* start, size_t bytes);
/// Ends a reservation. REQUIRES: exactly what ReserveMemory returned, or nullptr.
void ReleaseMemory(void* start, size_t bytes);

/// Owner of a reservation without huge pages: for a large buffer that may be used only at its
/// front.
class ReservedBuffer {
 public:
  /// Throws std::bad_alloc when the system refuses, as `new` does.
  explicit ReservedBuffer(size_t bytes)
      : memory_(static_cast<std::byte*>(ReserveMemory(bytes, MemoryAdvice::kNone))), size_(bytes) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  ~ReservedBuffer() { ReleaseMemory(memory_, size_); }
  ReservedBuffer(const ReservedBuffer&) = delete;
  ReservedBuffer& operator=(const ReservedBuffer&) = delete;

  std::byte* data() { return memory_; }
  const std::byte* data() const { return memory_; }
  size_t size() const { return size_; }
  std::span<std::byte> span() { return {memory_, size_}; }

 private:
  std::byte* const memory_;
  const size_t size_;
};

}  // namespace latchkey
