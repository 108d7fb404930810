#include "bufferpool/fix_choices.h"

namespace latchkey {
namespace {

constexpr FixModeInfo kFixModes[] = {
    {{"optimistic", "readers compare the page's version afterwards", {}}, FixMode::kOptimistic},
    {{"latched", "readers hold the page's shared latch", {}}, FixMode::kLatched},
};

constexpr PageInInfo kPageIns[] = {
    {{"blocking", "one actor reads a page, and the others wait", {}}, PageIn::kBlocking},
    {{"optimistic", "several actors may read a page, and the first one publishes it", {}},
     PageIn::kOptimistic},
};

}  // namespace

const Registry<FixModeInfo>& FixModes() {
  static constexpr Registry<FixModeInfo> registry("fix mode", kFixModes);
  return registry;
}

const Registry<PageInInfo>& PageIns() {
  static constexpr Registry<PageInInfo> registry("page-in", kPageIns);
  return registry;
}

}  // namespace latchkey
