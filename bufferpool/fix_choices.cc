#include "bufferpool/fix_choices.h"

namespace latchkey {
namespace {

constexpr FixModeInfo kFixModes[] = {
    {{"optimistic", "readers compare the page's version afterwards", {}}, FixMode::kOptimistic},
    {{"latched", "readers hold the page's shared latch", {}}, FixMode::kLatched},
};

}  // namespace

const Registry<FixModeInfo>& FixModes() {
  static constexpr Registry<FixModeInfo> registry("fix mode", kFixModes);
  return registry;
}

}  // namespace latchkey
