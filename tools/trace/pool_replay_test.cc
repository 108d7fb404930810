// The pool against the replay: the same algorithm misses at the same requests. One actor, one victim
// at a time, nothing read ahead, no page cleaner.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/replacement/trace_replay.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/hash.h"
#include "tools/contention/zero_page_store.h"
#include "tools/trace/page_trace.h"
#include "tools/trace/testing/trace_folder.h"

namespace latchkey {
namespace {

constexpr uint64_t kSeed = 42;

// The misses of a pool that fixes the pages of `trace`.
uint64_t PoolMisses(const std::string& replacement, const std::string& scheme, uint32_t frames,
                    const PageTrace& trace) {
  Runtime& runtime = ThreadRuntime();
  ZeroPageStore store(4096, trace.unique_pages);
  auto policy = MakeFixPolicy(runtime, ReplacementAlgorithms().Named(replacement),
                              SynchronizationSchemes().Named(scheme), frames, frames, kSeed);
  REQUIRE(policy.ok());
  const auto pool = BufferPool::Create(runtime, store, *std::move(policy), frames, frames);
  REQUIRE(pool.ok());
  PoolActor& actor = (*pool)->Here();
  for (const uint32_t page : trace.pages) {
    OptimisticGuard guard;
    REQUIRE((*pool)->FixOptimistic(actor, PageId{page}, &guard).ok());
  }
  const BufferPoolStats stats = (*pool)->stats();
  CHECK(stats.hits + stats.misses == trace.pages.size());
  return stats.misses;
}

void ComparePoolWithReplay(const std::string& name, uint32_t frames) {
  const std::filesystem::path file = TraceFolder() / (name + ".u64.zst");
  if (!std::filesystem::exists(file)) {
    WARN("skipped: no " << file << "; set LATCHKEY_TRACES to its folder");
    return;
  }
  const auto trace = ReadPageTrace(file.string());
  REQUIRE(trace.ok());
  for (const std::string& replacement : PoolReplacementNames()) {
    CAPTURE(name, frames, replacement);
    // The pool draws the seed of a region from its own.
    const uint64_t replayed = CountMisses(ReplacementAlgorithms().Named(replacement), frames,
                                          trace->pages, MixHash(kSeed));
    const std::string one_at_a_time =
        "bp-wrapper:queue=1:threshold=1:free_lists=1:refill=1:prefetch=off";
    CHECK(PoolMisses(replacement, one_at_a_time, frames, *trace) == replayed);
  }
}

TEST_CASE("A pool misses at the same requests of sprite as the replay, with every algorithm") {
  ComparePoolWithReplay("lirs_sprite", 708);
}

#ifdef NDEBUG
TEST_CASE("A pool misses at the same requests of OLTP as the replay, with every algorithm") {
  ComparePoolWithReplay("OLTP", 5000);
}
#endif

}  // namespace
}  // namespace latchkey
