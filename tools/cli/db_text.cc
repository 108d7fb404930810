#include "tools/cli/db_text.h"

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

void AppendDigits(unsigned char byte, std::string* text) {
  text->push_back(kDigits[byte >> 4]);
  text->push_back(kDigits[byte & 15]);
}

absl::Status BadEscape(size_t at) {
  return InvalidArgument(
      "byte {}: a backslash begins \\\\, \\n, \\r, \\t or \\xNN with two hexadecimal digits",
      at + 1);
}

/// The byte for the escape at text[*at]; *at moves behind the escape.
absl::StatusOr<char> ReadEscape(std::string_view text, size_t* at) {
  const size_t begin = *at;
  const char kind = begin + 1 < text.size() ? text[begin + 1] : '\0';
  *at = begin + 2;
  switch (kind) {
    case '\\':
      return '\\';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'x':
      break;
    default:
      return BadEscape(begin);
  }
  if (begin + 3 >= text.size()) return BadEscape(begin);
  const int high = HexDigit(text[begin + 2]);
  const int low = HexDigit(text[begin + 3]);
  if (high < 0 || low < 0) return BadEscape(begin);
  *at = begin + 4;
  return static_cast<char>(high * 16 + low);
}

}  // namespace

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendEscaped(std::string_view bytes, std::string* text) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text->append("\\\\");
    } else if (byte >= 32 && byte < 127) {
      text->push_back(c);
    } else {
      text->append("\\x");
      AppendDigits(byte, text);
    }
  }
}

absl::StatusOr<std::string> Unescape(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      bytes.push_back(text[at++]);
      continue;
    }
    LATCHKEY_ASSIGN_OR_RETURN(const char byte, ReadEscape(text, &at));
    bytes.push_back(byte);
  }
  return bytes;
}

void AppendHex(std::string_view bytes, std::string* text) {
  for (const char c : bytes) AppendDigits(static_cast<unsigned char>(c), text);
}

absl::StatusOr<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return InvalidArgument(
        "{} hexadecimal digits are no whole number of bytes; give two digits for each byte, 0a for "
        "the byte 10",
        text.size());
  }
  std::string bytes(text.size() / 2, '\0');
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) {
      return InvalidArgument("character {} is \"{}\", no hexadecimal digit; give 0 to 9, a to f",
                             i + 1, ToText(text.substr(i, 1), TextForm::kEscaped));
    }
    bytes[i / 2] = static_cast<char>(static_cast<unsigned char>(bytes[i / 2]) * 16 + digit);
  }
  return bytes;
}

std::string ToText(std::string_view bytes, TextForm form) {
  std::string text;
  form == TextForm::kHex ? AppendHex(bytes, &text) : AppendEscaped(bytes, &text);
  return text;
}

absl::StatusOr<std::string> FromText(std::string_view text, TextForm form) {
  return form == TextForm::kHex ? FromHex(text) : Unescape(text);
}

}  // namespace latchkey
