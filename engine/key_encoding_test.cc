#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "storage/base/rng.h"

namespace latchkey::key_encoding_test {
namespace {

TEST_CASE("Keys of integers, doubles and strings are ordered as their values") {
  Rng rng(5);
  std::vector<int64_t> ints{0, 1, -1, 255, 256, -256, INT64_MIN, INT64_MAX};
  std::vector<double> doubles{0.0, 1.5, -1.5, 1e300, -1e300, 5e-324, -5e-324,
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};
  std::vector<std::string> strings{"", "a", std::string("a\0", 2), std::string("a\0\xff", 3), "ab",
                                   std::string("\0", 1), std::string("\0\1", 2), "\xff", "\xff\xff"};
  for (int i = 0; i < 60; ++i) {
    ints.push_back(static_cast<int64_t>(rng.Next()) >> rng.Below(64));
    doubles.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(rng.Next())),
                                 static_cast<int>(rng.Below(200)) - 100));
    std::string text(rng.Below(4), '\0');
    for (char& c : text) c = static_cast<char>(rng.Below(3) == 0 ? 0 : rng.Below(256));
    strings.push_back(text);
  }
  for (const int64_t a : ints) {
    for (const int64_t b : ints) {
      CHECK((KeyWriter().Int(a).key() < KeyWriter().Int(b).key()) == (a < b));
      const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
      CHECK((KeyWriter().UInt(ua).key() < KeyWriter().UInt(ub).key()) == (ua < ub));
    }
  }
  for (const double a : doubles) {
    for (const double b : doubles) {
      CHECK((KeyWriter().Double(a).key() < KeyWriter().Double(b).key()) == (a < b));
    }
  }
  for (const std::string& a : strings) {
    for (const std::string& b : strings) {
      // What follows a string decides only between equal ones.
      CHECK((KeyWriter().String(a).Int(9).key() < KeyWriter().String(b).Int(-9).key()) == (a < b));
    }
  }
}

TEST_CASE("A key's parts are read back, and a wrong part is refused for good") {
  const std::string text("x\0y\xff\0", 5);
  const std::string key = KeyWriter().String(text).Int(-5).UInt(7).Double(-0.25).String("").key();
  KeyReader reader(key);
  std::string read;
  int64_t number = 0;
  uint64_t positive = 0;
  double real = 0;
  CHECK(reader.String(&read).ok());
  CHECK(read == text);
  CHECK((reader.Int(&number).ok() && number == -5));
  CHECK((reader.UInt(&positive).ok() && positive == 7));
  CHECK((reader.Double(&real).ok() && real == -0.25));
  CHECK((reader.String(&read).ok() && read.empty()));
  CHECK(reader.at_end());
  CHECK(absl::IsInvalidArgument(reader.Int(&number)));
  CHECK(absl::IsInvalidArgument(reader.String(&read)));
  CHECK(!reader.at_end());
  for (const std::string& bad : {std::string("ab"), std::string("a\0", 2), std::string("a\0\2", 3)}) {
    KeyReader broken(bad);
    CHECK(absl::IsInvalidArgument(broken.String(&read)));
  }
}

TEST_CASE("Negative zero and every NaN have one key each, NaN above all") {
  CHECK(KeyWriter().Double(-0.0).key() == KeyWriter().Double(0.0).key());
  const double nan = std::nan("1");
  CHECK(KeyWriter().Double(-nan).key() == KeyWriter().Double(nan).key());
  CHECK(KeyWriter().Double(nan).key() >
        KeyWriter().Double(std::numeric_limits<double>::infinity()).key());
}

TEST_CASE("The range of a prefix holds exactly the keys that begin with it") {
  for (const std::string& prefix : {std::string(), std::string("a"), std::string("a\xff"),
                                    std::string("\xff\xff"), std::string("\0", 1)}) {
    const KeyRange range = PrefixRange(prefix);
    for (const std::string& key :
         {std::string(), std::string("a"), std::string("a\xff\xff"), std::string("a\xff"),
          std::string("b"), std::string("\xff\xff\xff"), std::string("\xff\xff"),
          std::string("\xff"), std::string("\0\1", 2), std::string("\0", 1), std::string("\1")}) {
      const bool in = (!range.from || *range.from <= key) && (!range.to || key < *range.to);
      CHECK(in == (key.substr(0, prefix.size()) == prefix));
    }
  }
}

}  // namespace
}  // namespace latchkey::key_encoding_test
