// The LSN of a page: of the newest log record applied to it.
//
// Thread-safety: writing wants the page latched exclusively; reading without a latch may find any
// value, as reading anything of a page does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/base/ids.h"
#include "storage/base/racy_memory.h"
#include "storage/page_format.h"

namespace latchkey {

inline uint64_t PageLsn(const std::byte* page) {
  return RacyLoad<uint64_t>(page + offsetof(PageHeader, lsn));
}

inline void SetPageLsn(std::byte* page, Lsn lsn) {
  RacyStore<uint64_t>(page + offsetof(PageHeader, lsn), Raw(lsn));
}

}  // namespace latchkey
