#include "engine/txn/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "storage/base/check.h"

namespace latchkey {

ChunkPool::~ChunkPool() {
  LATCHKEY_CHECK(used_bytes() == 0);
  for (Stripe& stripe : stripes_) {
    while (Chunk* chunk = PopFrom(stripe)) Free(chunk);
  }
}

Chunk* ChunkPool::PopFrom(Stripe& stripe) {
  SpinLatchGuard guard(stripe.latch, runtime_);
  Chunk* chunk = stripe.free;
  if (chunk != nullptr) stripe.free = chunk->next;
  return chunk;
}

Chunk* ChunkPool::TakeFree(uint32_t home) {
  if (free_chunks_.load(std::memory_order_relaxed) == 0) return nullptr;
  for (uint32_t i = 0; i < kStripes; ++i) {
    if (Chunk* chunk = PopFrom(stripes_[(home + i) % kStripes])) {
      free_chunks_.fetch_sub(1, std::memory_order_relaxed);
      return chunk;
    }
  }
  return nullptr;
}

Chunk* ChunkPool::Take(size_t capacity, uint32_t home) {
  Chunk* chunk = capacity <= kChunkCapacity ? TakeFree(home) : nullptr;
  if (chunk == nullptr) {
    const size_t size = std::max(capacity, kChunkCapacity);
    chunk = new (::operator new(sizeof(Chunk) + size)) Chunk{nullptr, size};
    reserved_bytes_.fetch_add(chunk->bytes(), std::memory_order_relaxed);
  }
  used_bytes_.fetch_add(chunk->bytes(), std::memory_order_relaxed);
  chunk->next = nullptr;
  return chunk;
}

void ChunkPool::Free(Chunk* chunk) {
  reserved_bytes_.fetch_sub(chunk->bytes(), std::memory_order_relaxed);
  chunk->~Chunk();
  ::operator delete(chunk);
}

void ChunkPool::Return(Chunk* list, uint32_t home) {
  Stripe& stripe = stripes_[home % kStripes];
  while (list != nullptr) {
    Chunk* chunk = list;
    list = list->next;
    used_bytes_.fetch_sub(chunk->bytes(), std::memory_order_relaxed);
    if (chunk->size != kChunkCapacity ||
        free_chunks_.load(std::memory_order_relaxed) >= kMaxFreeChunks) {
      Free(chunk);
      continue;
    }
    SpinLatchGuard guard(stripe.latch, runtime_);
    chunk->next = stripe.free;
    stripe.free = chunk;
    free_chunks_.fetch_add(1, std::memory_order_relaxed);
  }
}

void* Arena::AllocateSlow(size_t size) {
  Chunk* chunk = pool_.Take(size, home_);
  chunk->next = first_;
  first_ = chunk;
  bytes_ += chunk->bytes();
  at_ = chunk->data() + size;
  end_ = chunk->data() + chunk->size;
  return chunk->data();
}

void Arena::Reset() {
  if (first_ != nullptr) pool_.Return(first_, home_);
  first_ = nullptr;
  bytes_ = 0;
  at_ = inline_.data();
  end_ = at_ + inline_.size();
}

}  // namespace latchkey
