// Absent pages: what a layer above the pool keeps for pages that are in no frame, such as changes
// that wait for the page to come in (a change buffer).
//
// Thread-safety: the pool calls from all actors. Each call concerns one page, which is latched
// exclusively, so calls for one page come one after the other. PagesBefore comes from anywhere.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bufferpool/page_word.h"
#include "storage/base/ids.h"

namespace latchkey {

class AbsentPages {
 public:
  virtual ~AbsentPages() = default;

  /// The page leaves its frame. The store has accepted `bytes`. Must not throw.
  virtual void OnEvicted(PageId page, std::span<const std::byte> bytes) = 0;
  /// The page was read into a frame, and is not published yet. May change `bytes`; then *changed is
  /// the LSN of the first change, or Lsn{0} without a log. After an error the page stays absent, and
  /// the fix returns the error.
  virtual absl::Status OnLoaded(PageId page, std::span<std::byte> bytes,
                                std::optional<Lsn>* changed) = 0;
  /// The page of OnLoaded has a frame, and is dirty if it was changed. What is kept for it may go now,
  /// not earlier: a checkpoint must find its changes either here or in the frame. Must not throw.
  virtual void OnPublished(PageId page) = 0;
  /// The page was freed, or gets new content that does not depend on the old one.
  virtual void OnDropped(PageId page) = 0;
  /// The absent pages for which something is kept that may have an LSN below `lsn`.
  virtual std::vector<PageId> PagesBefore(Lsn lsn) = 0;
  /// Whether `page` is one of these.
  virtual bool HasChangesBefore(PageId page, Lsn lsn) = 0;
};

/// The exclusive latch of a page that is in no frame: while the guard lives, the page comes into none.
class [[nodiscard]] AbsentGuard {
 public:
  AbsentGuard() = default;
  /// REQUIRES: the caller has latched `word`, which is not resident.
  explicit AbsentGuard(PageWord& word) : word_(&word) {}
  AbsentGuard(AbsentGuard&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}
  AbsentGuard& operator=(AbsentGuard&& other) noexcept {
    if (this != &other) {
      Release();
      word_ = std::exchange(other.word_, nullptr);
    }
    return *this;
  }
  ~AbsentGuard() { Release(); }

  explicit operator bool() const { return word_ != nullptr; }
  void Release() {
    if (word_ != nullptr) std::exchange(word_, nullptr)->AbandonLoad();
  }

 private:
  PageWord* word_ = nullptr;
};

}  // namespace latchkey
