// Handles of the C interface: numbers that stand for objects, and that are never valid again once the
// object is gone.
//
// An id is generation, kind and slot. Slots are never freed. So a call with a released handle reads
// a slot whose id is another one, and is refused. A lookup takes one load of a chunk and one of an
// id, and no lock.
//
// Thread-safety: all threads may use a table at once. A thread may use an object that Find returned
// only while no other thread takes its handle: the header of the C interface asks for that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace latchkey {

template <typename Object, uint64_t kKind>
class HandleTable {
 public:
  static constexpr uint64_t kMostHandles = 1 << 20;

  constexpr HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  /// The handle of a new object; 0 if all handles are in use. Throws std::bad_alloc.
  template <typename... Arguments>
  uint64_t Make(Arguments&&... arguments) {
    Slot* slot = PopFree();
    if (slot == nullptr) slot = TakeFresh();
    if (slot == nullptr) return 0;
    try {
      new (slot->object) Object(std::forward<Arguments>(arguments)...);
    } catch (...) {
      PushFree(*slot);
      throw;
    }
    const uint64_t id = ++slot->generation << kGenerationShift | kKind << kIndexBits | slot->index;
    slot->id.store(id, std::memory_order_release);
    return id;
  }

  /// nullptr if `id` is not the handle of an object.
  Object* Find(uint64_t id) {
    Slot* slot = SlotOf(id);
    if (slot == nullptr || slot->id.load(std::memory_order_acquire) != id) return nullptr;
    return slot->Get();
  }

  /// As Find. Afterwards the handle is invalid. The caller ends with Destroy or GiveBack. Of several
  /// callers at once, one gets the object.
  Object* Take(uint64_t id) {
    Slot* slot = SlotOf(id);
    if (slot == nullptr || !slot->id.compare_exchange_strong(id, 0)) return nullptr;
    return slot->Get();
  }
  void GiveBack(uint64_t id) { UsedSlot(id).id.store(id, std::memory_order_release); }
  void Destroy(uint64_t id) {
    Slot& slot = UsedSlot(id);
    slot.Get()->~Object();
    PushFree(slot);
  }

 private:
  static constexpr int kIndexBits = 20;
  static constexpr int kGenerationShift = 24;
  static constexpr uint64_t kSlotsPerChunk = 64;
  static_assert(kKind > 0 && kKind < 16 && kMostHandles == uint64_t{1} << kIndexBits);

  // Slot 0 has no object ever. Its id is one of another slot, so that no lookup finds it, not even
  // that of 0.
  static constexpr uint64_t kNobodys = 1;

  struct alignas(64) Slot {       // one cache line, and a lookup multiplies by shifting
    std::atomic<uint64_t> id{0};  // 0: no object, or it is being taken
    uint64_t generation = 0;
    uint32_t index = 0;
    std::atomic<uint32_t> next_free{0};  // index + 1; 0 = last
    alignas(Object) std::byte object[sizeof(Object)];

    Object* Get() { return std::launder(reinterpret_cast<Object*>(object)); }
  };
  struct Chunk {
    Slot slots[kSlotsPerChunk];
  };

  Chunk* ChunkOf(uint64_t id) {
    return chunks_[(id & (kMostHandles - 1)) / kSlotsPerChunk].load(std::memory_order_acquire);
  }
  // nullptr if no handle has had this slot.
  Slot* SlotOf(uint64_t id) {
    Chunk* chunk = ChunkOf(id);
    return chunk == nullptr ? nullptr : &chunk->slots[id % kSlotsPerChunk];
  }
  // REQUIRES: the chunk of `id` is there.
  Slot& UsedSlot(uint64_t id) { return ChunkOf(id)->slots[id % kSlotsPerChunk]; }

  // A slot that no handle has used yet; nullptr if there is none.
  Slot* TakeFresh() {
    uint64_t index = fresh_.load();
    do {
      if (index == kMostHandles) return nullptr;
      EnsureChunk(index / kSlotsPerChunk);
    } while (!fresh_.compare_exchange_weak(index, index + 1));
    Slot& slot = UsedSlot(index);
    slot.index = static_cast<uint32_t>(index);
    return &slot;
  }
  void EnsureChunk(uint64_t number) {
    if (chunks_[number].load(std::memory_order_acquire) != nullptr) return;
    auto made = std::make_unique<Chunk>();
    made->slots[0].id = number == 0 ? kNobodys : 0;
    Chunk* none = nullptr;
    if (chunks_[number].compare_exchange_strong(none, made.get())) made.release();
  }

  // The free list: index + 1 of its first slot, below a count of changes. The count makes a pop fail
  // whose first slot was taken and freed again meanwhile.
  Slot* PopFree() {
    uint64_t head = free_.load();
    for (;;) {
      const auto first = static_cast<uint32_t>(head);
      if (first == 0) return nullptr;
      Slot& slot = UsedSlot(first - 1);
      if (free_.compare_exchange_weak(head, NextHead(head, slot.next_free.load()))) return &slot;
    }
  }
  void PushFree(Slot& slot) {
    uint64_t head = free_.load();
    do {
      slot.next_free.store(static_cast<uint32_t>(head));
    } while (!free_.compare_exchange_weak(head, NextHead(head, slot.index + 1)));
  }
  static uint64_t NextHead(uint64_t head, uint32_t first) {
    return ((head >> 32) + 1) << 32 | first;
  }

  std::atomic<Chunk*> chunks_[kMostHandles / kSlotsPerChunk] = {};  // never freed
  std::atomic<uint64_t> fresh_{1};
  std::atomic<uint64_t> free_{0};
};

}  // namespace latchkey
