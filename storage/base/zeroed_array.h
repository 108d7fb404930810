// A large array of zeros that takes memory only where it is touched: for tables with an entry for
// each frame of the largest pool. The memory comes directly from the system. calloc would clear
// memory that it reuses, and that took most of the time of opening a small database.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "storage/base/check.h"
#include "storage/base/reserved_memory.h"

namespace latchkey {

/// REQUIRES: all bytes zero are a valid T (integers, atomics of integers, plain structs of those).
template <typename T>
class ZeroedArray {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  explicit ZeroedArray(size_t count, MemoryAdvice advice = MemoryAdvice::kNone)
      : data_(static_cast<T*>(ReserveMemory(count * sizeof(T), advice)),
              Release{count * sizeof(T)}) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Release {
    size_t bytes = 0;
    void operator()(T* data) const { ReleaseMemory(data, bytes); }
  };
  std::unique_ptr<T, Release> data_;
};

}  // namespace latchkey
