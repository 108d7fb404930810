// Keys and values as text: printable ASCII stands for itself, a backslash is \\, every other byte
// \xNN. Reading also takes \n, \r and \t. What is written never holds a tab, a line break or a
// byte above 126, so a line can hold a record whatever its bytes are.
//
// Thread-safety: pure functions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace latchkey {

void AppendEscaped(std::string_view bytes, std::string* text);
/// InvalidArgument names the byte (from 1) at which `text` goes wrong.
absl::StatusOr<std::string> Unescape(std::string_view text);

/// Two lower-case digits a byte.
void AppendHex(std::string_view bytes, std::string* text);
/// Digits of either case, an even number of them. InvalidArgument names the first that is none.
absl::StatusOr<std::string> FromHex(std::string_view text);

/// 0 to 15; -1 when `c` is no hexadecimal digit.
int HexDigit(char c);

/// How keys and values are written on the command line.
enum class TextForm { kEscaped, kHex };
std::string ToText(std::string_view bytes, TextForm form);
absl::StatusOr<std::string> FromText(std::string_view text, TextForm form);

}  // namespace latchkey
