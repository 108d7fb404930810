// Filling a cache before it is measured.
#pragma once

#include <absl/status/status.h>

#include <cstddef>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Reads every record of the first `tables` tables once, in key order. For runs whose data fits the
/// cache: random access would need many minutes until the last page has come in, and the figures
/// would be those of a cold start. Every backend is treated alike.
absl::Status PreloadCache(KvBackend& backend, size_t tables);

}  // namespace latchkey
