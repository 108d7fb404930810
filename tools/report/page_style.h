// The style of a report page: light and dark, phone and desktop, screen and paper.
#pragma once

#include <string_view>

namespace latchkey {

extern const std::string_view kPageStyle;

}  // namespace latchkey
