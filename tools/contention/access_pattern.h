// The pages that the threads of the pool emulator access. The values of `--accesses=`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/hash.h"
#include "storage/base/registry.h"
#include "storage/base/rng.h"
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

  /// Each thread draws numbers of its own.
  Rng MakeRng() const { return Rng(MixHash(seed) + thread); }
  /// Of permutations: the frequent pages are the same for all threads, and spread over all ids.
  static constexpr uint64_t kPopularSeed = 7;
};

struct AccessPatternInfo {
  ChoiceDescription description;
  bool needs_trace;
  std::unique_ptr<AccessStream> (*make)(const AccessPatternConfig& config,
                                        std::span<const double> parameters);
};

/// `zipf[:skew=0.86]`, `scans[:skew=0.86:share=0.2:length=100]`, `uniform`, `sequential`,
/// `tpc-w[:skew=0.86]`, `table-scan[:tables=8]`, `index-join`, `trace`.
const Registry<AccessPatternInfo>& AccessPatterns();
using AccessPatternChoice = Choice<AccessPatternInfo>;

}  // namespace latchkey
