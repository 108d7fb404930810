// The function of libfmt that the engine calls, compiled into liblatchkey.so. Debian has libfmt as a
// shared library only, and a program that embeds Latchkey may use another version of it.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

#include <string>

namespace latchkey::c {

// The inline function is compiled because its address is taken.
using Format = std::string (*)(fmt::string_view, fmt::format_args);
extern const Format fmt_inside;
[[gnu::used]] const Format fmt_inside = &fmt::vformat;

}  // namespace latchkey::c
