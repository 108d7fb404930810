#include "tools/contention/access_pattern.h"

#include <limits>

#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/contention/query_access.h"
#include "tpcc-lite/bench/zipf.h"

namespace latchkey {
namespace {

class Uniform final : public AccessStream {
 public:
  explicit Uniform(const AccessPatternConfig& config)
      : rng_(config.MakeRng()), pages_(config.pages) {}
  uint64_t Next() override { return rng_.Below(pages_); }

 private:
  Rng rng_;
  const uint64_t pages_;
};

class Zipf final : public AccessStream {
 public:
  Zipf(const AccessPatternConfig& config, double skew)
      : rng_(config.MakeRng()),
        ranks_(config.pages, skew),
        page_of_(config.pages, AccessPatternConfig::kPopularSeed) {}
  uint64_t Next() override { return page_of_(ranks_.Next(rng_)); }

 private:
  Rng rng_;
  const ZipfGenerator ranks_;
  const Permutation page_of_;
};

// Zipf accesses, and scans of neighbouring pages that begin anywhere.
class ZipfWithScans final : public AccessStream {
 public:
  ZipfWithScans(const AccessPatternConfig& config, double skew, double share, uint64_t length)
      : rng_(MixHash(config.MakeRng().Next())),
        single_(config, skew),
        pages_(config.pages),
        length_(length),
        scan_probability_(share / (share + (1 - share) * static_cast<double>(length))) {}

  uint64_t Next() override {
    if (left_ == 0) {
      const double draw =
          static_cast<double>(rng_.Below(uint64_t{1} << 53)) / static_cast<double>(1ull << 53);
      if (draw >= scan_probability_) return single_.Next();
      left_ = length_;
      next_ = rng_.Below(pages_);
    }
    --left_;
    const uint64_t page = next_;
    next_ = next_ + 1 == pages_ ? 0 : next_ + 1;
    return page;
  }

 private:
  Rng rng_;
  Zipf single_;
  const uint64_t pages_;
  const uint64_t length_;
  const double scan_probability_;  // that the next access begins a scan
  uint64_t next_ = 0;
  uint64_t left_ = 0;  // of the present scan
};

// Every thread walks over all pages, from a place of its own.
class Sequential final : public AccessStream {
 public:
  explicit Sequential(const AccessPatternConfig& config)
      : pages_(config.pages), next_(config.pages / config.threads * config.thread) {}
  uint64_t Next() override {
    const uint64_t page = next_;
    next_ = next_ + 1 == pages_ ? 0 : next_ + 1;
    return page;
  }

 private:
  const uint64_t pages_;
  uint64_t next_;
};

// Every thread replays the trace, from a place of its own.
class TraceStream final : public AccessStream {
 public:
  explicit TraceStream(const AccessPatternConfig& config)
      : requests_(config.trace->pages), next_(requests_.size() / config.threads * config.thread) {}
  uint64_t Next() override {
    const uint64_t page = requests_[next_];
    next_ = next_ + 1 == requests_.size() ? 0 : next_ + 1;
    return page;
  }

 private:
  const std::span<const uint32_t> requests_;
  size_t next_;
};

constexpr ChoiceParameter kSkew = {
    "skew", 0.86, 0.01, 2, ParameterKind::kNumber, "exponent of the frequency of a rank"};
constexpr ChoiceParameter kZipfParameters[] = {kSkew};
constexpr ChoiceParameter kScanParameters[] = {
    kSkew,
    {"share", 0.2, 0.001, 0.999, ParameterKind::kNumber, "of the accesses, by scans"},
    {"length", 100, 1, 1e9, ParameterKind::kWhole, "pages of a scan"}};

constexpr ChoiceParameter kTableScanParameters[] = {
    {"tables", 8, 1, 1e9, ParameterKind::kWhole, "tables of one size"}};

using Parameters = std::span<const double>;

constexpr AccessPatternInfo kPatterns[] = {
    {{"zipf", "few pages are frequent", kZipfParameters},
     false,
     [](const AccessPatternConfig& config, Parameters p) -> std::unique_ptr<AccessStream> {
       return std::make_unique<Zipf>(config, p[0]);
     }},
    {{"scans", "zipf, mixed with scans", kScanParameters},
     false,
     [](const AccessPatternConfig& config, Parameters p) -> std::unique_ptr<AccessStream> {
       return std::make_unique<ZipfWithScans>(config, p[0], p[1], static_cast<uint64_t>(p[2]));
     }},
    {{"uniform", "all pages are equally frequent", {}},
     false,
     [](const AccessPatternConfig& config, Parameters) -> std::unique_ptr<AccessStream> {
       return std::make_unique<Uniform>(config);
     }},
    {{"sequential", "each thread walks over all pages", {}},
     false,
     [](const AccessPatternConfig& config, Parameters) -> std::unique_ptr<AccessStream> {
       return std::make_unique<Sequential>(config);
     }},
    {{"tpc-w", "TPC-W's browsing mix: interactions of an on-line bookstore", kZipfParameters},
     false,
     [](const AccessPatternConfig& config, Parameters p) -> std::unique_ptr<AccessStream> {
       return MakeBrowsingMix(config, p[0]);
     }},
    {{"table-scan", "queries that each read a table whole", kTableScanParameters},
     false,
     [](const AccessPatternConfig& config, Parameters p) -> std::unique_ptr<AccessStream> {
       return MakeTableScans(config, static_cast<uint64_t>(p[0]));
     }},
    {{"index-join", "nested-loop index join of customers, orders, items", {}},
     false,
     [](const AccessPatternConfig& config, Parameters) -> std::unique_ptr<AccessStream> {
       return MakeIndexJoin(config);
     }},
    {{"trace", "each thread replays the trace", {}},
     true,
     [](const AccessPatternConfig& config, Parameters) -> std::unique_ptr<AccessStream> {
       return std::make_unique<TraceStream>(config);
     }},
};

}  // namespace

const Registry<AccessPatternInfo>& AccessPatterns() {
  static constexpr Registry<AccessPatternInfo> registry("access pattern", kPatterns);
  return registry;
}

}  // namespace latchkey
