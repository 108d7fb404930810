#include "tpcc-lite/workload/keys.h"

#include <catch2/catch.hpp>
#include <string>

#include "tpcc-lite/workload/random_inputs.h"

namespace latchkey::keys_test {
namespace {

std::string Bytes(const TpccKey& key) { return std::string(key.view()); }

TEST_CASE("keys sort as their columns do") {
  CHECK(Bytes(OrderKey(1, 2, 255)) < Bytes(OrderKey(1, 2, 256)));
  CHECK(Bytes(OrderKey(1, 2, 0xffffffff)) < Bytes(OrderKey(1, 3, 0)));
  CHECK(Bytes(OrderKey(255, 10, 1)) < Bytes(OrderKey(256, 1, 1)));
  CHECK(Bytes(OrderLineKey(1, 1, 1, 15)) < Bytes(OrderLineKey(1, 1, 2, 1)));
  CHECK(Bytes(StockKey(1, 100'000)) < Bytes(StockKey(2, 1)));
}

TEST_CASE("a district's keys lie between its key and the next one's") {
  CHECK(Bytes(DistrictKey(3, 10)) <= Bytes(CustomerKey(3, 10, 1)));
  CHECK(Bytes(HistoryKey(3, 10, 65535, 0xffffffff, 65535)) < Bytes(DistrictKey(3, 11)));
  CHECK(Bytes(DistrictKey(3, 11)) < Bytes(DistrictKey(4, 1)));
}

TEST_CASE("a customer's newest order comes first and reads back") {
  CHECK(Bytes(CustomerOrderKey(1, 1, 5, 11)) < Bytes(CustomerOrderKey(1, 1, 5, 10)));
  CHECK(Bytes(CustomerOrderKey(1, 1, 5, 1)) < Bytes(CustomerKey(1, 1, 6)));
  CHECK(OrderOfCustomerOrderKey(CustomerOrderKey(1, 1, 5, 77).view()) == 77);
}

TEST_CASE("customers of one last name are one range, by first name") {
  // BAR is a prefix of BARBAR: their ranges must not mix.
  const std::string short_name = Bytes(CustomerNameKey(1, 1, "BAR", "zz", 1));
  const std::string long_name = Bytes(CustomerNameKey(1, 1, "BARBAR", "aa", 2));
  CHECK(short_name < long_name);
  CHECK(Bytes(CustomerNamePrefix(1, 1, "BAR")) < short_name);
  CHECK(short_name < Bytes(CustomerNameEnd(1, 1, "BAR")));
  CHECK(Bytes(CustomerNameEnd(1, 1, "BAR")) < Bytes(CustomerNamePrefix(1, 1, "BARBAR")));
  CHECK(Bytes(CustomerNameKey(1, 1, "BAR", "ann", 9)) <
        Bytes(CustomerNameKey(1, 1, "BAR", "anna", 1)));
  CHECK(CustomerOfNameKey(long_name) == 2);
}

TEST_CASE("the longest key fits") {
  const std::string_view sixteen = "0123456789abcdef";
  CHECK(CustomerNameKey(1, 1, sixteen, sixteen, 1).view().size() == 39);
}

TEST_CASE("text is cut at its column's width and padded below") {
  Text<4> text;
  text.Assign("abcdef");
  CHECK(text.view() == "abcd");
  text.Assign("x");
  CHECK(text.view() == "x");
  CHECK(text.bytes[3] == 0);
}

TEST_CASE("a row of the wrong size is not taken for a row") {
  std::string value(sizeof(StockRow), '\0');
  CHECK(MutableRowOf<StockRow>(&value) != nullptr);
  CHECK(MutableRowOf<ItemRow>(&value) == nullptr);
  CHECK(RowOf<StockRow>(value.substr(1)) == nullptr);
}

}  // namespace
}  // namespace latchkey::keys_test
