// The pages that the threads of the pool emulator access. The values of `--accesses=`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/registry.h"
#include "tools/trace/page_trace.h"

namespace latchkey {

/// The accesses of one thread. Not thread-safe.
class AccessStream {
 public:
  virtual ~AccessStream() = default;
  /// The next page, below the number of pages.
  virtual uint64_t Next() = 0;
};

struct AccessPatternConfig {
  uint64_t pages = 1;
  uint32_t thread = 0;  ///< 0 to threads - 1
  uint32_t threads = 1;
  uint64_t seed = 42;
  const PageTrace* trace = nullptr;  ///< set for a pattern that needs it; outlives the stream
};

struct AccessPatternInfo {
  ChoiceDescription description;
  bool needs_trace;
  std::unique_ptr<AccessStream> (*make)(const AccessPatternConfig& config,
                                        std::span<const double> parameters);
};

/// `zipf[:skew=0.86]`, `scans[:skew=0.86:share=0.2:length=100]`, `uniform`, `sequential`, `trace`.
const Registry<AccessPatternInfo>& AccessPatterns();
using AccessPatternChoice = Choice<AccessPatternInfo>;

}  // namespace latchkey
