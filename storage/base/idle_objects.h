// A few objects that are expensive to make, kept for their next use. Whoever needs one takes it,
// and gives it back.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace latchkey {

/// Thread-safe, without a lock. Keeps at most kMost objects; further ones that are given back end.
template <typename T, typename Deleter = std::default_delete<T>>
class IdleObjects {
 public:
  using Object = std::unique_ptr<T, Deleter>;
  static constexpr size_t kMost = 16;

  IdleObjects() = default;
  ~IdleObjects() {
    for (std::atomic<T*>& idle : idle_) Object(idle.load());
  }
  IdleObjects(const IdleObjects&) = delete;
  IdleObjects& operator=(const IdleObjects&) = delete;

  /// An idle object; nullptr: there is none.
  Object Take() {
    for (std::atomic<T*>& idle : idle_) {
      if (idle.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = idle.exchange(nullptr, std::memory_order_acquire)) return Object(object);
    }
    return nullptr;
  }
  void Return(Object object) {
    if (object == nullptr) return;
    for (std::atomic<T*>& idle : idle_) {
      T* none = nullptr;
      if (idle.compare_exchange_strong(none, object.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
        object.release();
        return;
      }
    }
  }

 private:
  std::array<std::atomic<T*>, kMost> idle_{};
};

}  // namespace latchkey
