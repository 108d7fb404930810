// lk_compact.
#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

CompactProgressFn ProgressOf(lk_compact_progress_function function, void* context) {
  if (function == nullptr) return nullptr;
  return [function, context](const CompactProgress& progress) {
    const lk_compact_progress told = {static_cast<uint32_t>(sizeof told), 0, progress.leaves,
                                      progress.freed, progress.file_bytes};
    return function(context, &told) == 0;
  };
}

lk_code WriteInfo(const CompactInfo& info, lk_compact_info* to, lk_error* error) {
  const lk_compact_info told = {0, 0, info.bytes_before, info.bytes_after, info.leaves, info.freed};
  return WriteStruct(told, "lk_compact_info", to, error);
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_compact(lk_db db, const lk_compact_options* options, lk_compact_info* info,
                   lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (info != nullptr) {  // a wrong struct is refused before the work
      const lk_code fit = WriteInfo({}, info, error);
      if (fit != LK_OK) return fit;
    }
    lk_compact_options known = LK_COMPACT_OPTIONS_INIT;
    const lk_code read = ReadStruct(options, "lk_compact_options", &known, error);
    if (read != LK_OK) return read;
    const absl::StatusOr<CompactInfo> made =
        database.Compact({.max_bytes_per_second = known.max_bytes_per_second,
                          .progress = ProgressOf(known.progress, known.context)});
    if (!made.ok()) return Fail(error, made.status());
    return info == nullptr ? kOk : WriteInfo(*made, info, error);
  });
}

}  // extern "C"
