// The rows of TPC-C-lite (clause 1.3): packed structs with every column that is not in the key (see
// keys.h), little-endian. Variable text has the full width of its column in the row, so rows have
// the sizes of clause 1.2.1 (its "typical row length" counts full columns: CUSTOMER 655 bytes). The
// *content* of a text has the random lengths of clause 4.3.2.
//
// Units: money in cents, taxes and discounts in basis points (1/100 of a percent). Dates are ticks
// of a logical clock; 0 is no date. The load is at 1. Dates of a run are (run << 32) + the user's
// transaction number, so a seed repeats a database bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace latchkey {

/// Packed: no padding, no alignment. may_alias: rows are used in place in a value's bytes.
#define LATCHKEY_TPCC_ROW __attribute__((packed, may_alias))

/// Text of at most N bytes, filled up with zeros.
template <size_t N>
struct LATCHKEY_TPCC_ROW Text {
  char bytes[N];

  std::string_view view() const { return {bytes, strnlen(bytes, N)}; }
  /// Cuts text longer than N.
  void Assign(std::string_view text) {
    const size_t size = text.size() < N ? text.size() : N;
    std::memcpy(bytes, text.data(), size);
    std::memset(bytes + size, 0, N - size);
  }
};

struct LATCHKEY_TPCC_ROW Address {
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

struct LATCHKEY_TPCC_ROW WarehouseRow {
  Text<10> name;
  Address address;
  uint16_t tax;
  int64_t ytd;
};

struct LATCHKEY_TPCC_ROW DistrictRow {
  Text<10> name;
  Address address;
  uint16_t tax;
  int64_t ytd;
  uint32_t next_o_id;
};

struct LATCHKEY_TPCC_ROW CustomerRow {
  Text<16> first;
  Text<2> middle;
  Text<16> last;
  Address address;
  Text<16> phone;
  uint64_t since;
  Text<2> credit;  ///< "GC" or "BC"
  int64_t credit_limit;
  uint16_t discount;
  int64_t balance;
  int64_t ytd_payment;
  uint32_t payment_count;
  uint32_t delivery_count;
  Text<500> data;
};

struct LATCHKEY_TPCC_ROW HistoryRow {
  uint16_t customer;
  uint16_t warehouse;  ///< H_W_ID and H_D_ID: where the payment was made
  uint8_t district;
  uint64_t date;
  int32_t amount;
  Text<24> data;
};

struct LATCHKEY_TPCC_ROW OrderRow {
  uint16_t customer;
  uint64_t entry_date;
  uint8_t carrier;  ///< 1 to 10; 0 = null: not delivered
  uint8_t line_count;
  uint8_t all_local;
};

struct LATCHKEY_TPCC_ROW OrderLineRow {
  uint32_t item;
  uint16_t supply_warehouse;
  uint64_t delivery_date;  ///< 0 = null: not delivered
  uint8_t quantity;
  int32_t amount;
  Text<24> district_info;
};

struct LATCHKEY_TPCC_ROW ItemRow {
  uint32_t image;
  Text<24> name;
  int32_t price;
  Text<50> data;
};

struct LATCHKEY_TPCC_ROW StockRow {
  int16_t quantity;
  Text<24> district_info[10];
  uint32_t ytd;
  uint32_t order_count;
  uint32_t remote_count;
  Text<50> data;
};

/// The one row of `meta`.
struct LATCHKEY_TPCC_ROW DescriptionRow {
  Text<16> format;  ///< kTpccFormat
  uint32_t warehouses;
  double scale;
  uint64_t seed;
  uint32_t last_name_constant;
  uint32_t runs;
  uint8_t complete;
};
inline constexpr std::string_view kTpccFormat = "tpcc-lite/1";

// With the columns of the key (keys.h) these are 93, 98, 670, 52, 20, 51, 86 and 310 bytes; clause
// 1.2.1 has 89, 95, 655, 46, 24, 54, 82 and 306.
static_assert(sizeof(WarehouseRow) == 91);
static_assert(sizeof(DistrictRow) == 95);
static_assert(sizeof(CustomerRow) == 665);
static_assert(sizeof(HistoryRow) == 41);
static_assert(sizeof(OrderRow) == 13);
static_assert(sizeof(OrderLineRow) == 43);
static_assert(sizeof(ItemRow) == 82);
static_assert(sizeof(StockRow) == 304);

/// The bytes of `value` as a row, to read or change in place; nullptr: `value` has the wrong size.
template <typename Row>
const Row* RowOf(std::string_view value) {
  return value.size() == sizeof(Row) ? reinterpret_cast<const Row*>(value.data()) : nullptr;
}
template <typename Row>
Row* MutableRowOf(std::string* value) {
  return value->size() == sizeof(Row) ? reinterpret_cast<Row*>(value->data()) : nullptr;
}
template <typename Row>
std::string_view BytesOf(const Row& row) {
  return {reinterpret_cast<const char*>(&row), sizeof(Row)};
}

}  // namespace latchkey
