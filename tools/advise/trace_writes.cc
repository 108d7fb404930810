#include "tools/advise/trace_writes.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "tools/layout_lab/write_back_filter.h"

namespace latchkey {
namespace {

void Append(PageTrace& requests, uint32_t page, bool write) {
  requests.pages.push_back(page);
  requests.writes.push_back(write);
}

bool Writes(const PageTrace& requests, size_t i) {
  return !requests.writes.empty() && requests.writes[i];
}

// The pages in descending order of `counts`.
std::vector<uint32_t> Ranked(std::span<const uint64_t> counts) {
  std::vector<uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  return order;
}

// w(h) of `writes`, with the pages ranked by `known`. Pages that it does not tell apart share their
// writes alike.
std::shared_ptr<const CountedWrites> RankedBy(std::span<const uint64_t> known,
                                              std::span<const uint64_t> writes, uint64_t pages) {
  const std::vector<uint32_t> order = Ranked(known);
  std::vector<double> ranked(order.size());
  const auto spread = [&](size_t begin, size_t end, uint64_t places) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += static_cast<double>(writes[order[i]]);
    return sum / static_cast<double>(places);
  };
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && known[order[end]] == known[order[begin]]) ++end;
    // Pages of the store that the trace does not have are as cold as those never written.
    const bool coldest = end == order.size() && known[order[begin]] == 0;
    const uint64_t places = end - begin + (coldest ? pages - order.size() : 0);
    std::fill(ranked.begin() + static_cast<ptrdiff_t>(begin),
              ranked.begin() + static_cast<ptrdiff_t>(end), spread(begin, end, places));
    if (coldest) ranked.resize(begin + places, ranked[begin]);
  }
  return std::make_shared<const CountedWrites>(ranked, pages);
}

}  // namespace

PageTrace BehindCache(const PageTrace& trace, uint32_t frames) {
  if (frames == 0) return trace;
  PageTrace requests;
  requests.unique_pages = trace.unique_pages;
  requests.page_size = trace.page_size;
  WriteBackFilter cache(trace.unique_pages, frames);
  for (size_t i = 0; i < trace.pages.size(); ++i) {
    const WriteBackFilter::Effect effect = cache.Access(trace.pages[i], Writes(trace, i));
    if (effect.write) Append(requests, *effect.write, true);
    if (effect.read) Append(requests, *effect.read, false);
  }
  return requests;
}

TraceWrites CountWrites(const PageTrace& requests, uint64_t pages) {
  TraceWrites counted;
  counted.traced_pages = requests.unique_pages;
  counted.pages = std::max<uint64_t>(pages, requests.unique_pages);
  counted.writes =
      static_cast<uint64_t>(std::count(requests.writes.begin(), requests.writes.end(), true));
  LATCHKEY_CHECK(counted.writes >= 2);
  counted.reads = requests.pages.size() - counted.writes;
  std::vector<uint64_t> first(requests.unique_pages), second(requests.unique_pages);
  uint64_t seen = 0;
  for (size_t i = 0; i < requests.pages.size(); ++i) {
    if (!Writes(requests, i)) continue;
    ++(2 * seen < counted.writes ? first : second)[requests.pages[i]];
    ++seen;
  }
  std::vector<uint64_t> all(requests.unique_pages);
  for (size_t page = 0; page < all.size(); ++page) all[page] = first[page] + second[page];
  counted.written_pages = all.size() - static_cast<uint64_t>(std::count(all.begin(), all.end(), 0));
  counted.in_hindsight = RankedBy(all, all, counted.pages);
  counted.foreseen = RankedBy(first, second, counted.pages);
  return counted;
}

PageTrace SamplePages(const PageTrace& requests, uint64_t pages, uint64_t seed) {
  if (pages >= requests.unique_pages) return requests;
  constexpr uint32_t kLeftOut = UINT32_MAX, kNew = UINT32_MAX - 1;
  std::vector<uint32_t> number(requests.unique_pages, kLeftOut);
  // The pages with the least hashes.
  std::vector<uint64_t> hashes(requests.unique_pages);
  for (size_t page = 0; page < hashes.size(); ++page) hashes[page] = MixHash(MixHash(seed) ^ page);
  std::vector<uint64_t> sorted = hashes;
  const auto limit = sorted.begin() + static_cast<ptrdiff_t>(pages);
  std::nth_element(sorted.begin(), limit, sorted.end());
  for (size_t page = 0; page < hashes.size(); ++page) {
    if (hashes[page] < *limit) number[page] = kNew;
  }
  PageTrace sample;
  sample.page_size = requests.page_size;
  for (size_t i = 0; i < requests.pages.size(); ++i) {
    uint32_t& to = number[requests.pages[i]];
    if (to == kLeftOut) continue;
    if (to == kNew) to = sample.unique_pages++;
    Append(sample, to, Writes(requests, i));
  }
  return sample;
}

}  // namespace latchkey
