#include "tools/campaign/shared/technique_items.h"

#include <iterator>

#include "bufferpool/cleaning/cleaning_choices.h"
#include "bufferpool/cleaning/cleaning_controller.h"
#include "bufferpool/fix_choices.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/open_store.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

using Items = const std::vector<std::string>;

}  // namespace

Items& LayoutItems() {
  static Items& items = *new Items(StoresUnderTest());
  return items;
}

void SetLayout(const std::string& item, Techniques* techniques) {
  const LayoutAndCompression choice = LayoutAndCompression::Of(item);
  techniques->layout = choice.layout;
  techniques->page_compression = choice.page_compression;
}

std::string LayoutItemOf(const Techniques& techniques) {
  if (techniques.page_compression == "none") return techniques.layout;
  return techniques.layout + "/" + techniques.page_compression;
}

Items& SegmentCleaningItems() {
  static Items& items = *new Items(CleaningPolicies().Names());
  return items;
}

Items& ReplacementItems() {
  static Items& items = *new Items(PoolReplacementNames());
  return items;
}

Items& SynchronizationItems() {
  static Items& items = *[] {
    auto* small = new std::vector<std::string>;
    for (const SynchronizationInfo& info : SynchronizationSchemes()) {
      small->emplace_back(info.small_item);
    }
    return small;
  }();
  return items;
}

Items& FixItems() {
  static Items& items = *new Items(FixModes().Names());
  return items;
}

Items& PageInItems() {
  static Items& items = *new Items(PageIns().Names());
  return items;
}

Items& CleanerItems() {
  static Items& items = *new Items(CleaningControllers().Names());
  return items;
}

Items& CleaningScopeItems() {
  static Items& items = *new Items(CleaningScopes().Names());
  return items;
}

Items& VictimItems() {
  static Items& items = *new Items(VictimPreferences().Names());
  return items;
}

bool IsPolicy(const std::string& replacement, const std::string& synchronization) {
  return SynchronizationSchemes()
      .Named(synchronization)
      .entry()
      .Runs(ReplacementAlgorithms().Named(replacement).name());
}

uint32_t AnySegmentSize(Rng& rng) {
  constexpr uint32_t kSizes[] = {128 << 10, 240 << 10, 512 << 10};
  return kSizes[rng.Below(std::size(kSizes))];
}

bool IsFixMode(const std::string& fix, const std::string& synchronization) {
  return CheckFixMode(SynchronizationSchemes().Named(synchronization),
                      FixModes().Named(fix).entry().mode)
      .ok();
}

void MakeFixMode(std::string* fix, const std::string& synchronization) {
  if (!IsFixMode(*fix, synchronization)) *fix = FixItems().front();
}

void TryChangeBuffer(uint64_t bytes, Options* options) {
  Options with = *options;
  with.techniques.change_buffer_bytes = bytes;
  if (ResolveOptions(with).ok()) *options = with;
}

void SetChangeBuffer(uint64_t number, Options* options) {
  constexpr uint64_t kSalt = 0x6368616e6765;
  if (MixHash(number ^ kSalt) % 2 != 0) TryChangeBuffer(options->cache_bytes / 16, options);
}

void MakePolicy(std::string* replacement, const std::string& synchronization) {
  if (IsPolicy(*replacement, synchronization)) return;
  *replacement = SynchronizationSchemes().Named(synchronization).entry().replacements.front();
}

}  // namespace latchkey
