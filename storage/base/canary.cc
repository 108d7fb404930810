#include "storage/base/canary.h"

#include <atomic>
#include <cstdlib>

namespace latchkey {
namespace {

struct Selection {
  Selection() {
    if (const char* name = std::getenv("LATCHKEY_CANARY")) selected = name;
  }
  std::string selected;
  std::atomic<uint64_t> hits{0};
};

Selection& TheSelection() {
  static Selection selection;
  return selection;
}

}  // namespace

void SelectCanary(const std::string& name) {
  Selection& selection = TheSelection();
  selection.selected = name;
  selection.hits.store(0, std::memory_order_relaxed);
}

bool CanaryIsSelected(std::string_view name) {
  Selection& selection = TheSelection();
  if (selection.selected != name) return false;
  selection.hits.fetch_add(1, std::memory_order_relaxed);
  return true;
}

uint64_t CanaryHits() { return TheSelection().hits.load(std::memory_order_relaxed); }

}  // namespace latchkey
