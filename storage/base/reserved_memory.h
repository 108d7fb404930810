// Large zeroed memory straight from the system: touched pages only count, and it goes back whole.
#pragma once

#include <cstddef>
#include <new>
#include <span>

namespace latchkey {

enum class MemoryAdvice { kNone, kHugePages };

/// Maps `bytes` of zeroed memory that takes physical memory only as it is touched; aligned to the
/// system's page, with kHugePages to 2 MiB and advised to use huge pages. nullptr when the system
/// refuses.
void* ReserveMemory(size_t bytes, MemoryAdvice advice);
/// Whether so much memory gains more from huge pages than it loses: each is zeroed whole when its
/// first byte is touched.
constexpr bool HugePagesPay(size_t bytes) { return bytes >= size_t{16} << 20; }

/// Asks for huge pages in [start, start + bytes), a part of a reservation, from now on.
void AdviseHugePages(void* start, size_t bytes);
/// Gives the physical memory of [start, start + bytes) back; the addresses stay valid and read
/// zero. REQUIRES: start and bytes are multiples of 4096 within one reservation.
void DiscardMemory(void* start, size_t bytes);
/// Ends a reservation. REQUIRES: exactly what ReserveMemory returned, or nullptr.
void ReleaseMemory(void* start, size_t bytes);

/// Owner of a reservation without huge pages: a large buffer of which perhaps only the
/// front is ever used.
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
