// Memory for the entries of one transaction: bump allocation in recycled chunks. In the steady
// state a write allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A piece of memory. `size` usable bytes follow the header.
struct alignas(16) Chunk {
  Chunk* next = nullptr;
  size_t size = 0;
  size_t bytes() const { return sizeof(Chunk) + size; }
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};

/// Free chunks of the standard size, in stripes. A chunk returns to the stripe that it came from,
/// whichever actor returns it: so the actor that needs chunks finds them in its own. Larger chunks
/// are not kept.
/// Thread-safety: every actor may call every member at once.
class ChunkPool {
 public:
  static constexpr size_t kChunkBytes = 4096;
  static constexpr size_t kChunkCapacity = kChunkBytes - sizeof(Chunk);
  /// Most free chunks that are kept (8 MiB). The rest goes back to the operating system.
  static constexpr uint64_t kMaxFreeChunks = 2048;

  explicit ChunkPool(Runtime& runtime) : runtime_(runtime) {}
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  /// Returns a chunk of at least `capacity` usable bytes. `home` chooses the stripe.
  Chunk* Take(size_t capacity, uint32_t home);
  /// Takes back a list of chunks, into the stripe of `home`.
  void Return(Chunk* list, uint32_t home);

  /// Bytes of all chunks (reserved_bytes), and of the chunks in use.
  size_t reserved_bytes() const { return reserved_bytes_.load(std::memory_order_relaxed); }
  size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kStripes = 16;
  struct alignas(64) Stripe {
    SpinLatch latch;
    Chunk* free = nullptr;
  };
  Chunk* PopFrom(Stripe& stripe);
  Chunk* TakeFree(uint32_t home);
  void Free(Chunk* chunk);

  Runtime& runtime_;
  Stripe stripes_[kStripes];
  std::atomic<size_t> reserved_bytes_{0};
  std::atomic<size_t> used_bytes_{0};
  std::atomic<uint64_t> free_chunks_{0};
};

/// One transaction's memory: first the bytes its owner gives, then chunks. Not thread-safe.
class Arena {
 public:
  /// `first`: bytes that live as long as the arena and are aligned for entries. Small transactions
  /// need no more. `home`: see ChunkPool.
  Arena(ChunkPool& pool, std::span<std::byte> first, uint32_t home)
      : pool_(pool), inline_(first), home_(home) {
    Reset();
  }
  ~Arena() { pool_.Return(first_, home_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Returns `size` bytes, aligned for any entry and valid until Reset.
  void* Allocate(size_t size) {
    size = (size + kAlignment - 1) & ~(kAlignment - 1);
    if (static_cast<size_t>(end_ - at_) < size) return AllocateSlow(size);
    void* result = at_;
    at_ += size;
    return result;
  }
  /// Forgets everything allocated and returns the chunks.
  void Reset();
  /// Memory of the arena's chunks, bytes.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 8;
  void* AllocateSlow(size_t size);

  ChunkPool& pool_;
  const std::span<std::byte> inline_;
  const uint32_t home_;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  Chunk* first_ = nullptr;  // the newest chunk comes first
  size_t bytes_ = 0;
};

}  // namespace latchkey
