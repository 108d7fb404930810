// Tables and keys of TPC-C-lite: composite keys, big-endian, so that bytewise order is the order of
// the columns. Built on the stack: the hot path allocates nothing.
//
//   TABLE            KEY (bytes)                                     VALUE
//   warehouse        w 2                                             WarehouseRow
//   district         w 2, d 1                                        DistrictRow
//   customer         w 2, d 1, c 2                                   CustomerRow
//   history          c_w 2, c_d 1, run 2, sequence 4, user 2         HistoryRow
//   new_order        w 2, d 1, o 4                                   -
//   orders           w 2, d 1, o 4                                   OrderRow
//   order_line       w 2, d 1, o 4, number 1                         OrderLineRow
//   item             i 4                                             ItemRow
//   stock            w 2, i 4                                        StockRow
//   customer_name    w 2, d 1, last + 0, first + 0, c 2              -            (index)
//   customer_order   w 2, d 1, c 2, ~o 4 (newest first)              -            (index)
//   meta             "tpcc"                                          DescriptionRow
//
// HISTORY has no primary key in the standard. Its key here begins with the *customer's* district,
// so that conditions 10 and 12 are checked district by district in bounded memory. The next columns
// (run, sequence) grow with time, so that the rows of a district are appended in one place.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/base/check.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

inline constexpr TableIndex kWarehouseTable = 0;
inline constexpr TableIndex kDistrictTable = 1;
inline constexpr TableIndex kCustomerTable = 2;
inline constexpr TableIndex kHistoryTable = 3;
inline constexpr TableIndex kNewOrderTable = 4;
inline constexpr TableIndex kOrderTable = 5;
inline constexpr TableIndex kOrderLineTable = 6;
inline constexpr TableIndex kItemTable = 7;
inline constexpr TableIndex kStockTable = 8;
inline constexpr TableIndex kCustomerNameIndex = 9;
inline constexpr TableIndex kCustomerOrderIndex = 10;
inline constexpr TableIndex kMetaTable = 11;
inline constexpr TableIndex kTpccTables = 12;

/// A key under construction, on the stack.
class TpccKey {
 public:
  TpccKey() = default;

  TpccKey& U8(uint8_t value) { return Append(&value, 1); }
  TpccKey& U16(uint16_t value) {
    const uint16_t big = __builtin_bswap16(value);
    return Append(&big, 2);
  }
  TpccKey& U32(uint32_t value) {
    const uint32_t big = __builtin_bswap32(value);
    return Append(&big, 4);
  }
  /// Adds `text`, which holds no zero byte, and a zero: a prefix sorts before longer texts.
  TpccKey& Terminated(std::string_view text) {
    Append(text.data(), text.size());
    return U8(0);
  }

  std::string_view view() const { return {bytes_, size_}; }
  operator std::string_view() const { return view(); }  // NOLINT: a key is used as bytes

 private:
  static_assert(std::endian::native == std::endian::little);

  TpccKey& Append(const void* bytes, size_t size) {
    LATCHKEY_DCHECK(size_ + size <= sizeof(bytes_));
    std::memcpy(bytes_ + size_, bytes, size);
    size_ += static_cast<uint32_t>(size);
    return *this;
  }

  char bytes_[44];  // the longest key: customer_name, 3 + 17 + 17 + 2
  uint32_t size_ = 0;
};

/// Reads the columns of a key in their order. REQUIRES: the key has them.
class TpccKeyReader {
 public:
  explicit TpccKeyReader(std::string_view key) : rest_(key) {}
  uint8_t U8() { return Take<uint8_t>(); }
  uint16_t U16() { return __builtin_bswap16(Take<uint16_t>()); }
  uint32_t U32() { return __builtin_bswap32(Take<uint32_t>()); }

 private:
  template <typename T>
  T Take() {
    LATCHKEY_CHECK(rest_.size() >= sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view rest_;
};

inline TpccKey WarehouseKey(uint16_t w) { return TpccKey().U16(w); }
/// Also the first key of all rows of a district; DistrictKey(w, d + 1) is their end.
inline TpccKey DistrictKey(uint16_t w, uint8_t d) { return TpccKey().U16(w).U8(d); }
inline TpccKey CustomerKey(uint16_t w, uint8_t d, uint16_t c) { return DistrictKey(w, d).U16(c); }
inline TpccKey OrderKey(uint16_t w, uint8_t d, uint32_t o) { return DistrictKey(w, d).U32(o); }
inline TpccKey NewOrderKey(uint16_t w, uint8_t d, uint32_t o) { return OrderKey(w, d, o); }
inline TpccKey OrderLineKey(uint16_t w, uint8_t d, uint32_t o, uint8_t number) {
  return OrderKey(w, d, o).U8(number);
}
inline TpccKey ItemKey(uint32_t i) { return TpccKey().U32(i); }
inline TpccKey StockKey(uint16_t w, uint32_t i) { return TpccKey().U16(w).U32(i); }

inline TpccKey HistoryKey(uint16_t customer_w, uint8_t customer_d, uint16_t run, uint32_t sequence,
                          uint16_t user) {
  return DistrictKey(customer_w, customer_d).U16(run).U32(sequence).U16(user);
}

/// The customers with one last name are [CustomerNamePrefix, CustomerNameEnd), by first name.
inline TpccKey CustomerNamePrefix(uint16_t w, uint8_t d, std::string_view last) {
  return DistrictKey(w, d).Terminated(last);
}
inline TpccKey CustomerNameEnd(uint16_t w, uint8_t d, std::string_view last) {
  return CustomerNamePrefix(w, d, last).U8(0xff);
}
inline TpccKey CustomerNameKey(uint16_t w, uint8_t d, std::string_view last, std::string_view first,
                               uint16_t c) {
  return CustomerNamePrefix(w, d, last).Terminated(first).U16(c);
}
inline uint16_t CustomerOfNameKey(std::string_view key) {
  LATCHKEY_CHECK(key.size() > 2);
  return TpccKeyReader(key.substr(key.size() - 2)).U16();
}

/// The orders of one customer are [CustomerKey(c), CustomerKey(c + 1)), the newest first.
inline TpccKey CustomerOrderKey(uint16_t w, uint8_t d, uint16_t c, uint32_t o) {
  return CustomerKey(w, d, c).U32(~o);
}
inline uint32_t OrderOfCustomerOrderKey(std::string_view key) {
  LATCHKEY_CHECK(key.size() > 4);
  return ~TpccKeyReader(key.substr(key.size() - 4)).U32();
}

}  // namespace latchkey
