#include "tools/campaign/model/model_configurations.h"

#include <fmt/format.h>

#include <array>

#include "engine/option_names.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "tools/campaign/model/pairwise.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr std::array<uint32_t, 2> kCleanerCounts = {0, 1};
constexpr std::array<double, 2> kUtilizations = {0.8, 0.95};
constexpr std::array<uint32_t, 3> kPageSizes = {4096, 8192, 16384};
constexpr std::array<Durability, 3> kDurabilities = {Durability::kNone, Durability::kGroup,
                                                     Durability::kCommit};
constexpr std::array<Isolation, 2> kIsolations = {Isolation::kSnapshot, Isolation::kSerializable};
constexpr std::array<TornWriteProtection, 2> kProtections = {TornWriteProtection::kDoublewrite,
                                                             TornWriteProtection::kImages};
constexpr std::array<const char*, 4> kMediumNames = {"memory", "file", "power-cut",
                                                     "power-cut-untorn"};

// The dimensions, and the number of values of each.
enum Dimension : size_t {
  kLayout,
  kCleaning,
  kReplacement,
  kSynchronization,
  kFix,
  kPageIn,
  kCleaner,
  kCleanerCount,
  kCleaningScope,
  kVictims,
  kUtilization,
  kPageSize,
  kDurability,
  kIsolation,
  kMedium,
  kProtection,
  kDimensions,
};
const std::array<uint8_t, kDimensions>& Values() {
  static const std::array<uint8_t, kDimensions> values = [] {
    std::array<uint8_t, kDimensions> counts;
    const auto count = [&](Dimension dimension, const auto& list) {
      counts[dimension] = static_cast<uint8_t>(list.size());
    };
    count(kLayout, LayoutItems());
    count(kCleaning, SegmentCleaningItems());
    count(kReplacement, ReplacementItems());
    count(kSynchronization, SynchronizationItems());
    count(kFix, FixItems());
    count(kPageIn, PageInItems());
    count(kCleaner, CleanerItems());
    count(kCleanerCount, kCleanerCounts);
    count(kCleaningScope, CleaningScopeItems());
    count(kVictims, VictimItems());
    count(kUtilization, kUtilizations);
    count(kPageSize, kPageSizes);
    count(kDurability, kDurabilities);
    count(kIsolation, kIsolations);
    count(kMedium, kMediumNames);
    count(kProtection, kProtections);
    return counts;
  }();
  return values;
}

bool IsPossible(const ValuePair& pair) {
  static_assert(kReplacement < kSynchronization && kSynchronization < kFix);
  if (pair.a.dimension == kSynchronization && pair.b.dimension == kFix) {
    return IsFixMode(FixItems()[pair.b.value], SynchronizationItems()[pair.a.value]);
  }
  if (pair.a.dimension != kReplacement || pair.b.dimension != kSynchronization) return true;
  return IsPolicy(ReplacementItems()[pair.a.value], SynchronizationItems()[pair.b.value]);
}

const std::vector<std::vector<uint8_t>>& Rows() {
  static const std::vector<std::vector<uint8_t>> rows =
      PairwiseRows(Values(), IsPossible, /*seed=*/1);
  return rows;
}

}  // namespace

ModelConfiguration ConfigurationOf(uint64_t number) {
  ModelConfiguration configuration;
  configuration.row = number % Rows().size();
  const std::vector<uint8_t>& row = Rows()[configuration.row];
  Rng rng(MixHash(number));
  Options& options = configuration.options;
  SetLayout(LayoutItems()[row[kLayout]], &options.techniques);
  options.techniques.segment_cleaning = SegmentCleaningItems()[row[kCleaning]];
  options.techniques.replacement = ReplacementItems()[row[kReplacement]];
  options.techniques.synchronization = SynchronizationItems()[row[kSynchronization]];
  options.techniques.fix = FixItems()[row[kFix]];
  options.techniques.page_in = PageInItems()[row[kPageIn]];
  options.techniques.cleaner = CleanerItems()[row[kCleaner]];
  options.techniques.cleaners = kCleanerCounts[row[kCleanerCount]];
  options.techniques.cleaning_scope = CleaningScopeItems()[row[kCleaningScope]];
  options.techniques.victims = VictimItems()[row[kVictims]];
  options.techniques.space_utilization = kUtilizations[row[kUtilization]];
  options.techniques.seed = number;
  options.techniques.segment_size = AnySegmentSize(rng);  // given: no device is measured
  options.page_size = kPageSizes[row[kPageSize]];
  options.durability = kDurabilities[row[kDurability]];
  if (options.durability != Durability::kNone) {
    options.torn_write_protection = kProtections[row[kProtection]];
  }
  options.isolation = kIsolations[row[kIsolation]];
  configuration.medium = static_cast<ModelMedium>(row[kMedium]);
  options.in_memory_device = configuration.medium == ModelMedium::kMemory;
  options.cache_bytes = (options.page_size <= 4096 ? 4u : 8u) << 20;
  options.cache_bytes <<= rng.Below(3);
  options.checkpoint_log_bytes = uint64_t{256} << (10 + rng.Below(5));
  SetChangeBuffer(number, &options);
  return configuration;
}

std::string ModelConfiguration::Describe() const {
  const Techniques& t = options.techniques;
  return fmt::format(
      "layout={} segment-cleaning={} replacement={} synchronization={} fix={} page-in={} "
      "cleaner={} cleaners={} cleaning-scope={} victims={} utilization={} page={} cache={} "
      "changes={} durability={} {} "
      "{} {}",
      LayoutItemOf(t), t.segment_cleaning, t.replacement, t.synchronization, t.fix, t.page_in,
      t.cleaner, t.cleaners, t.cleaning_scope, t.victims, t.space_utilization, options.page_size,
      options.cache_bytes, t.change_buffer_bytes, NameOf(options.durability),
      NameOf(options.torn_write_protection),
      options.isolation == Isolation::kSnapshot ? "snapshot" : "serializable",
      kMediumNames[static_cast<size_t>(medium)]);
}

size_t ModelRows() { return Rows().size(); }

ModelPairs CountModelPairs(const std::vector<bool>& used) {
  std::vector<std::vector<uint8_t>> run;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) run.push_back(Rows()[i]);
  }
  return {.run = CountPairs(run), .all = CountAllPairs(Values(), IsPossible)};
}

}  // namespace latchkey
