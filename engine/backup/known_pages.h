// The pages that a backup need not copy, because its page files or those before have them: by page
// id the write sequence of the newest image.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backup/page_file.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Four bytes a page id. Not thread-safe.
class KnownPages {
 public:
  /// Adds the entries of a page file, in the order of the files.
  void Add(std::span<const BackupPageEntry> entries);
  /// The sequence of the newest image; 0: none, or the page was gone then.
  uint32_t SequenceOf(PageId page) const {
    return Raw(page) < sequences_.size() ? sequences_[Raw(page)] : 0;
  }
  /// Above every id that has an image.
  uint64_t limit() const { return sequences_.size(); }

 private:
  std::vector<uint32_t> sequences_;
};

}  // namespace latchkey
