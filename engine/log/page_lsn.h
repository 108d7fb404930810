// The LSN of a page: that of the newest log record applied to it.
//
// Thread-safety: writing requires the page's exclusive latch. Reading without a latch may return
// any value, as for every field of a page.
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
