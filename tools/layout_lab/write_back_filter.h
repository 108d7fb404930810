// An LRU cache with write-back in front of a page store: of the accesses to pages it lets those
// through that a buffer pool would (thesis 6.3.1, the buffer cache component).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

/// Not thread-safe. Holds no content.
class WriteBackFilter {
 public:
  /// What the access of a page needs from the store. If the cache is full and its oldest page was
  /// changed, that page is written first.
  struct Effect {
    std::optional<uint32_t> write;
    std::optional<uint32_t> read;
  };

  /// REQUIRES: frames >= 1; every page is below `pages`.
  WriteBackFilter(uint32_t pages, uint32_t frames);
  ~WriteBackFilter();

  Effect Access(uint32_t page, bool changes);

 private:
  std::vector<ReferenceByte> bytes_;
  std::unique_ptr<ReplacementAlgorithm> lru_;
  std::vector<FrameId> frame_of_;  // by page
  std::vector<uint32_t> page_in_;  // by frame
  std::vector<bool> changed_;      // by frame
  uint32_t next_free_ = 1;
};

}  // namespace latchkey
