#include "storage/base/out_of_memory.h"

namespace latchkey {
namespace {

const absl::Status& Made() {
  static const auto* const status = new absl::Status(  // never destroyed: used to the very end
      absl::StatusCode::kResourceExhausted,
      "out of memory: the call had no effect; call again when there is memory, or give the "
      "database less of it (Options::cache_bytes, Options::version_store_bytes)");
  return *status;
}

// Made at program start, because later memory may have run out.
[[maybe_unused]] const bool made_early = Made().ok();

}  // namespace

absl::Status OutOfMemory() { return Made(); }

bool IsOutOfMemory(const absl::Status& status) { return !status.ok() && status == Made(); }

}  // namespace latchkey
