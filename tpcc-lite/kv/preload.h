// Fills a cache before a measurement.
#pragma once

#include <absl/status/status.h>

#include <cstddef>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Reads every record of the first `tables` tables once, in key order. For runs whose data fits the
/// cache: random access would take many minutes to read the last page, and the figures would be
/// those of a cold start. All backends are treated the same.
absl::Status PreloadCache(KvBackend& backend, size_t tables);

}  // namespace latchkey
