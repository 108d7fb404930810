#include "engine/backup/known_pages.h"

#include <algorithm>

namespace latchkey {

void KnownPages::Add(std::span<const BackupPageEntry> entries) {
  uint64_t limit = sequences_.size();
  for (const BackupPageEntry& entry : entries) limit = std::max(limit, entry.page + 1);
  sequences_.resize(limit);
  for (const BackupPageEntry& entry : entries) sequences_[entry.page] = entry.sequence;
}

}  // namespace latchkey
