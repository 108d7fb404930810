// The layouts that conformance tests and campaigns run: every name of the list, and of a layout with
// parameters that change its separator, one item each.
#pragma once

#include <string>
#include <vector>

#include "layout/separate/separator.h"

namespace latchkey {

inline std::vector<std::string> LayoutsUnderTest() {
  std::vector<std::string> items = Layouts().Names();
  items.emplace_back("hylog:h=0.4");
  items.emplace_back("hylog:thesis:interval=5ms");  // its decisions change within a test
  return items;
}

}  // namespace latchkey
