// Keys and values as text: a printable ASCII character is itself, a backslash is \\, every other
// byte is \xNN. Reading also accepts \n, \r and \t. Written text has no tab, no line break and no
// byte above 126, so one line can hold any record.
//
// Thread-safety: pure functions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace latchkey {

void AppendEscaped(std::string_view bytes, std::string* text);
/// InvalidArgument names the first wrong byte of `text`, counted from 1.
absl::StatusOr<std::string> Unescape(std::string_view text);

/// Two lower-case digits per byte.
void AppendHex(std::string_view bytes, std::string* text);
/// An even number of digits of either case. InvalidArgument names the first wrong one.
absl::StatusOr<std::string> FromHex(std::string_view text);

/// 0 to 15; -1: `c` is no hexadecimal digit.
int HexDigit(char c);

/// The form of keys and values on the command line.
enum class TextForm { kEscaped, kHex };
std::string ToText(std::string_view bytes, TextForm form);
absl::StatusOr<std::string> FromText(std::string_view text, TextForm form);

}  // namespace latchkey
