#include "engine/catalog_entry.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

namespace latchkey::catalog_entry_test {
namespace {

using namespace std::string_view_literals;

// Stored samples: each format that a database on some disk may have.
constexpr std::string_view kWithoutFlags = "\x07\0\0\0\x05\0\0\0\0\0\0\0"sv;
constexpr std::string_view kWithoutChains = "\x07\0\0\0\x05\0\0\0\0\0\0\0\0"sv;
constexpr std::string_view kWithChains = "\x07\0\0\0\x05\0\0\0\0\0\0\0\x01"sv;

CatalogEntry DecodeOrFail(std::string_view bytes) {
  const std::optional<CatalogEntry> entry = DecodeCatalogEntry(bytes);
  REQUIRE(entry.has_value());
  CHECK(entry->tree == TreeId{7});
  CHECK(entry->root == PageId{5});
  return *entry;
}

TEST_CASE("an entry of the catalogue without flags is of a tree that may name chains") {
  CHECK(DecodeOrFail(kWithoutFlags).may_name_chains);
  CHECK(DecodeOrFail(kWithChains).may_name_chains);
  CHECK_FALSE(DecodeOrFail(kWithoutChains).may_name_chains);
}

TEST_CASE("an entry of the catalogue is written with flags, byte for byte as ever") {
  CHECK(EncodeCatalogEntry(DecodeOrFail(kWithoutFlags)) == kWithChains);
  CHECK(EncodeCatalogEntry(DecodeOrFail(kWithChains)) == kWithChains);
  CHECK(EncodeCatalogEntry(DecodeOrFail(kWithoutChains)) == kWithoutChains);
}

TEST_CASE("what has another size or unknown flags is no entry of a catalogue") {
  CHECK_FALSE(DecodeCatalogEntry({}).has_value());
  CHECK_FALSE(DecodeCatalogEntry(kWithoutFlags.substr(0, 11)).has_value());
  CHECK_FALSE(DecodeCatalogEntry(std::string(kWithChains) + '\0').has_value());
  std::string unknown(kWithChains);
  unknown.back() = 2;
  CHECK_FALSE(DecodeCatalogEntry(unknown).has_value());
}

}  // namespace
}  // namespace latchkey::catalog_entry_test
