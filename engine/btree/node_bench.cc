// What one page costs: search in the processor's caches and in memory, insert, split.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/btree/node.h"
#include "storage/base/rng.h"

namespace latchkey {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

struct AlignedPage {
  alignas(kPageSize) std::byte bytes[kPageSize];
};

std::string BigEndian(uint64_t number) {
  number = __builtin_bswap64(number);
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

/// Pages that follow each other in key order, each with `per_page` records of 8-byte keys.
class Pages {
 public:
  Pages(size_t pages, uint32_t per_page, size_t value_size, uint64_t gap, uint32_t level)
      : count_(pages), per_page_(per_page), gap_(gap) {
    // In huge pages, as a buffer pool's frames are: else the benchmark measures address
    // translation.
    const size_t bytes = (pages * kPageSize + kHugePage - 1) / kHugePage * kHugePage;
    pages_.reset(static_cast<AlignedPage*>(std::aligned_alloc(kHugePage, bytes)));
    madvise(pages_.get(), bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < pages; ++i) Fill(i, value_size, level);
  }

  NodeEditor page(size_t i) { return {pages_[i].bytes, kPageSize}; }
  size_t size() const { return count_; }
  std::string KeyOf(size_t i, uint64_t record) const {
    return BigEndian((1 + i) * per_page_ * gap_ + record * gap_);
  }

 private:
  void Fill(size_t i, size_t value_size, uint32_t level) {
    const std::string lower = KeyOf(i, 0);
    const std::string upper = KeyOf(i + 1, 0);
    NodeEditor node = page(i);
    node.Init(level, {.lower = lower, .upper = upper});
    for (uint32_t record = 0; record < per_page_; ++record) {
      const std::string key = KeyOf(i, record);
      if (level == 0) {
        node.Insert(record, key, std::string(value_size, 'v'), 0);
      } else {
        node.InsertSeparator(record, key, PageId{1}, PageId{1});
      }
    }
  }

  struct Free {
    void operator()(AlignedPage* pages) const { std::free(pages); }
  };
  std::unique_ptr<AlignedPage[], Free> pages_;
  size_t count_;
  uint32_t per_page_;
  uint64_t gap_;
};

/// Where to look: a page and a key in it, at random.
struct Probe {
  size_t page;
  std::string key;
};

std::vector<Probe> MakeProbes(const Pages& pages, uint32_t per_page) {
  Rng rng(1);
  std::vector<Probe> probes(1 << 16);
  for (Probe& probe : probes) {
    probe.page = rng.Below(pages.size());
    probe.key = pages.KeyOf(probe.page, rng.Below(per_page));
  }
  return probes;
}

void SearchCached(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  Pages pages(1, per_page, (kPageSize - 64) / per_page - 16, 1000, 0);
  const std::vector<Probe> probes = MakeProbes(pages, per_page);
  const NodeView node = pages.page(0);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(node.LowerBound(probes[i++ & 0xffff].key));
  }
}
BENCHMARK(SearchCached)->Arg(30)->Arg(60)->Arg(120)->Arg(200);

/// The key of the next search depends on the answer of the last one, as in a descent.
void SearchCachedInTurn(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  Pages pages(1, per_page, (kPageSize - 64) / per_page - 16, 1000, 0);
  const std::vector<Probe> probes = MakeProbes(pages, per_page);
  const NodeView node = pages.page(0);
  size_t i = 0;
  for (auto _ : state) {
    i += 1 + (node.LowerBound(probes[i & 0xffff].key).slot >> 16);
  }
}
BENCHMARK(SearchCachedInTurn)->Arg(30)->Arg(60)->Arg(120)->Arg(200);

void ChildCachedInTurn(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  Pages pages(1, per_page, 0, 1000, 1);
  const std::vector<Probe> probes = MakeProbes(pages, per_page);
  const NodeView node = pages.page(0);
  size_t i = 0;
  for (auto _ : state) {
    i += Raw(node.Child(node.ChildSlotFor(probes[i & 0xffff].key)));
  }
}
BENCHMARK(ChildCachedInTurn)->Arg(10)->Arg(100)->Arg(250);

void SearchEqualHeads(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  AlignedPage page;
  NodeEditor node(page.bytes, kPageSize);
  node.Init(0, {});
  std::vector<std::string> keys;
  for (uint32_t i = 0; i < per_page; ++i) {
    keys.push_back(BigEndian(i * 7));
    node.Insert(i, keys.back(), "v", 0);
  }
  Rng rng(1);
  std::vector<uint32_t> order(1 << 16);
  for (uint32_t& i : order) i = static_cast<uint32_t>(rng.Below(keys.size()));
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(node.LowerBound(keys[order[i++ & 0xffff]]));
  }
}
BENCHMARK(SearchEqualHeads)->Arg(30)->Arg(200);

/// A lookup with its value, in far more pages than the caches hold.
void GetCold(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  Pages pages(200'000, per_page, (kPageSize - 64) / per_page - 16, 1000, 0);
  std::vector<Probe> probes = MakeProbes(pages, per_page);
  std::string value;
  size_t i = 0;
  Rng rng(2);
  for (auto _ : state) {
    const Probe& probe = probes[i++ & 0xffff];
    const NodeView node = pages.page(probe.page);
    NodeView::Prefetch(node.page());
    const SlotPosition position = node.LowerBound(probe.key);
    benchmark::DoNotOptimize(node.CopyValue(position.slot, &value));
  }
}
BENCHMARK(GetCold)->Arg(30)->Arg(120);

void ChildCold(benchmark::State& state) {
  const auto per_page = static_cast<uint32_t>(state.range(0));
  Pages pages(200'000, per_page, 0, 1000, 1);
  std::vector<Probe> probes = MakeProbes(pages, per_page);
  size_t i = 0;
  for (auto _ : state) {
    const Probe& probe = probes[i++ & 0xffff];
    const NodeView node = pages.page(probe.page);
    NodeView::Prefetch(node.page());
    benchmark::DoNotOptimize(node.Child(node.ChildSlotFor(probe.key)));
  }
}
BENCHMARK(ChildCold)->Arg(250);

void FillByAscendingKeys(benchmark::State& state) {
  AlignedPage page;
  NodeEditor node(page.bytes, kPageSize);
  const std::string value(100, 'v');
  for (auto _ : state) {
    node.Init(0, {});
    for (uint32_t i = 0; node.Insert(i, BigEndian(i), value, 0); ++i) {
    }
  }
}
BENCHMARK(FillByAscendingKeys);

void Split(benchmark::State& state) {
  Pages pages(1, 30, 100, 1000, 0);
  AlignedPage original;
  std::memcpy(original.bytes, pages.page(0).page(), kPageSize);
  AlignedPage right;
  const std::string lower = pages.KeyOf(0, 0);
  const std::string upper = pages.KeyOf(1, 0);
  AlignedPage left;
  std::string separator;
  for (auto _ : state) {
    std::memcpy(left.bytes, original.bytes, kPageSize);
    NodeEditor node(left.bytes, kPageSize);
    node.SplitInto({right.bytes, kPageSize}, {.lower = lower, .upper = upper},
                   {.key = upper.substr(0, 7), .value_size = 100}, &separator);
  }
}
BENCHMARK(Split);

}  // namespace
}  // namespace latchkey

BENCHMARK_MAIN();
