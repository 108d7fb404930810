#include "tools/cli/db_text.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"

namespace latchkey::db_text_test {
namespace {

std::string EveryByte() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  return bytes;
}

}  // namespace

TEST_CASE("text of bytes is one printable line, and reads back as the same bytes") {
  const std::string text = ToText(EveryByte(), TextForm::kEscaped);
  for (const char c : text) {
    REQUIRE(c >= 32);
    REQUIRE(c < 127);
  }
  CHECK(Unescape(text).value() == EveryByte());
  CHECK(ToText("a\\b\n", TextForm::kEscaped) == "a\\\\b\\x0a");
}

TEST_CASE("escapes that people write are read as well") {
  CHECK(Unescape("a\\tb\\n\\r\\x4A").value() == "a\tb\n\rJ");
  CHECK(Unescape("").value().empty());
}

TEST_CASE("an escape that is none is refused with its place") {
  for (const char* text : {"ab\\", "ab\\q", "ab\\x", "ab\\x1", "ab\\xzz", "ab\\x1g"}) {
    const auto read = Unescape(text);
    INFO(text);
    REQUIRE(absl::IsInvalidArgument(read.status()));
    CHECK(std::string(read.status().message()).find("byte 3:") == 0);
  }
}

TEST_CASE("hexadecimal digits come in pairs of either case") {
  CHECK(ToText(std::string("\x00\xff", 2), TextForm::kHex) == "00ff");
  CHECK(FromHex("00fF").value() == std::string("\x00\xff", 2));
  CHECK(absl::IsInvalidArgument(FromHex("0").status()));
  CHECK(std::string(FromHex("00g0").status().message()).find("character 3 is \"g\"") == 0);
}

}  // namespace latchkey::db_text_test
