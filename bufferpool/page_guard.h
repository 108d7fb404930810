// Guards: holding a guard is the permission that its type names. Only the pool makes guards. Shared
// and exclusive guards are move-only and unfix their page when they are destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "bufferpool/page_word.h"
#include "storage/base/ids.h"
#include "storage/base/racy_memory.h"

namespace latchkey {

class BufferPool;

/// Permission to read a page that may change or be evicted at any moment. Read only through the
/// racy functions (storage/base/racy_memory.h), check every offset against the page's bounds, and
/// act on the bytes only after Validate() has returned true.
class OptimisticGuard {
 public:
  OptimisticGuard() = default;

  explicit operator bool() const { return word_ != nullptr; }
  const std::byte* data() const { return data_; }
  PageId page() const { return page_; }
  PageState state() const { return PageState(state_); }
  /// Whether all bytes read through this guard so far belong to one unmodified version of the page.
  bool Validate() const {
    RacyReadFence();
    return PageState(state_).ValidatedBy(word_->Read());
  }
  template <typename T>
  T Load(size_t offset) const {
    return RacyLoad<T>(data_ + offset);
  }
  void Copy(size_t offset, void* to, size_t size) const { RacyCopyOut(to, data_ + offset, size); }

 private:
  friend class BufferPool;
  OptimisticGuard(PageWord* word, PageState state, const std::byte* data, PageId page)
      : word_(word), state_(state.bits()), data_(data), page_(page) {}

  PageWord* word_ = nullptr;
  uint64_t state_ = 0;
  const std::byte* data_ = nullptr;
  PageId page_ = kInvalidPageId;
};

/// Permission to read: no thread modifies the page, and it stays in its frame.
class [[nodiscard]] SharedGuard {
 public:
  SharedGuard() = default;
  SharedGuard(SharedGuard&& other) noexcept { *this = std::move(other); }
  SharedGuard& operator=(SharedGuard&& other) noexcept {
    if (this != &other) {
      Unfix();
      pool_ = std::exchange(other.pool_, nullptr);
      data_ = other.data_;
      page_ = other.page_;
    }
    return *this;
  }
  ~SharedGuard() { Unfix(); }

  explicit operator bool() const { return pool_ != nullptr; }
  const std::byte* data() const { return data_; }
  PageId page() const { return page_; }
  inline void Unfix();

 private:
  friend class BufferPool;
  SharedGuard(BufferPool* pool, PageId page, const std::byte* data)
      : pool_(pool), data_(data), page_(page) {}

  BufferPool* pool_ = nullptr;
  const std::byte* data_ = nullptr;
  PageId page_ = kInvalidPageId;
};

/// Permission to modify. `Mutable()` marks the page modified. Without it, and without `Invalidate()`, the
/// guard does not change the page's version, so optimistic readers need not restart.
class [[nodiscard]] ExclusiveGuard {
 public:
  ExclusiveGuard() = default;
  ExclusiveGuard(ExclusiveGuard&& other) noexcept { *this = std::move(other); }
  ExclusiveGuard& operator=(ExclusiveGuard&& other) noexcept {
    if (this != &other) {
      Unfix();
      pool_ = std::exchange(other.pool_, nullptr);
      page_ = other.page_;
      frame_ = other.frame_;
      modified_ = other.modified_;
      invalidated_ = other.invalidated_;
    }
    return *this;
  }
  ~ExclusiveGuard() { Unfix(); }

  explicit operator bool() const { return pool_ != nullptr; }
  inline const std::byte* data() const;
  /// The page, to be modified. Write through racy_memory.h, because optimistic readers may read it.
  inline std::byte* Mutable();
  /// The optimistic guards that exist do not validate, and cannot be upgraded, any more, as after a
  /// change of the page. The page stays clean. For a page that is out of its structure: an actor that
  /// is still on its way to it turns back.
  void Invalidate() { invalidated_ = true; }
  PageId page() const { return page_; }
  FrameId frame() const { return frame_; }
  inline void Unfix();

 private:
  friend class BufferPool;
  ExclusiveGuard(BufferPool* pool, PageId page, FrameId frame)
      : pool_(pool), page_(page), frame_(frame) {}

  BufferPool* pool_ = nullptr;
  PageId page_ = kInvalidPageId;
  FrameId frame_ = kNoFrame;
  bool modified_ = false, invalidated_ = false;
};
static_assert(sizeof(ExclusiveGuard) <= 24 && sizeof(SharedGuard) <= 24);

}  // namespace latchkey
