// Text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace latchkey {

/// `text` as the content of an element or of a quoted attribute: & < > " ' are escaped. A control
/// character other than tab and line break, and a byte that is not UTF-8, becomes U+FFFD.
std::string EscapeHtml(std::string_view text);

/// `<NAME ATTRIBUTES>CONTENT</NAME>`. `attributes` and `content` are markup: escape what comes from
/// outside.
std::string Element(std::string_view name, std::string_view attributes, std::string_view content);

}  // namespace latchkey
