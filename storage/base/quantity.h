// Numbers with a unit: "500ms", "64KiB", "10M". One parser for flags and for the parameters of
// techniques.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace latchkey {

struct Unit {
  std::string_view name;  ///< "" = a number without a unit
  double factor;
};

/// Bytes; every prefix is binary, because the sizes are those of memory and pages.
std::span<const Unit> ByteUnits();
/// Thousands: k, M, G.
std::span<const Unit> CountUnits();
/// Nanoseconds. A number without a unit is seconds.
std::span<const Unit> TimeUnits();

/// The number at the front of `text` times the unit behind it. nullopt: not a number, negative, not
/// finite, or another unit.
std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units);

/// `nanos` with the largest unit that divides it: 1e9 -> "1s", 250e3 -> "250us". ParseQuantity with
/// TimeUnits reads it back.
std::string FormatDuration(double nanos);

}  // namespace latchkey
