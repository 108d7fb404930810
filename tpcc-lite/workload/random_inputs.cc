#include "tpcc-lite/workload/random_inputs.h"

#include <array>
#include <bit>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr uint32_t kItemA = 8191;
constexpr uint32_t kCustomerA = 1023;
constexpr uint32_t kLastNameA = 255;
constexpr TpccScale kStandard;

// Distinct streams of one seed: the draws of the load do not determine those of a run.
constexpr uint64_t kLoadStream = 0x6c6f6164;
constexpr uint64_t kRunStream = 0x72756e;

bool DeltaAllowed(uint32_t run, uint32_t load) {
  const uint32_t delta = run > load ? run - load : load - run;
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

uint32_t DrawConstant(Rng& rng, uint32_t a) { return static_cast<uint32_t>(rng.Below(a + 1)); }

TpccDistributions Shapes(const TpccScale& sizes) {
  TpccDistributions shapes;
  shapes.item = {.a = ScaledA(kItemA, kStandard.items, sizes.items), .low = 1, .high = sizes.items};
  shapes.customer = {.a = ScaledA(kCustomerA, kStandard.customers, sizes.customers),
                     .low = 1,
                     .high = sizes.customers};
  shapes.last_name = {.a = ScaledA(kLastNameA, kStandard.last_names, sizes.last_names),
                      .low = 0,
                      .high = sizes.last_names - 1};
  return shapes;
}

}  // namespace

uint32_t ScaledA(uint32_t full_a, uint32_t full_range, uint32_t range) {
  const uint64_t proportional = (uint64_t{full_a} + 1) * range / full_range;
  return proportional <= 1 ? 0 : std::bit_floor(static_cast<uint32_t>(proportional)) - 1;
}

TpccDistributions TpccDistributions::ForLoad(const TpccScale& sizes, uint64_t seed) {
  Rng rng(MixHash(seed ^ kLoadStream));
  TpccDistributions load = Shapes(sizes);
  load.last_name.c = DrawConstant(rng, load.last_name.a);
  return load;
}

TpccDistributions TpccDistributions::ForRun(const TpccScale& sizes, uint64_t seed,
                                            uint32_t load_last_name_constant) {
  Rng rng(MixHash(seed ^ kRunStream));
  TpccDistributions run = Shapes(sizes);
  run.item.c = DrawConstant(rng, run.item.a);
  run.customer.c = DrawConstant(rng, run.customer.a);
  do {
    run.last_name.c = DrawConstant(rng, run.last_name.a);
  } while (run.last_name.a == kLastNameA &&
           !DeltaAllowed(run.last_name.c, load_last_name_constant));
  return run;
}

LastName::LastName(uint32_t number) {
  static constexpr std::array<std::string_view, 10> kSyllables = {
      "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
  LATCHKEY_CHECK(number < 1000);
  for (const uint32_t digit : {number / 100, number / 10 % 10, number % 10}) {
    const std::string_view syllable = kSyllables[digit];
    std::memcpy(bytes + size, syllable.data(), syllable.size());
    size += syllable.size();
  }
}

size_t RandomText(Rng& rng, size_t low, size_t high, char* to) {
  // 64 characters, so that a draw gives ten of them.
  static constexpr char kAlphabet[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,";
  const auto size = static_cast<size_t>(low + rng.Below(high - low + 1));
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 10 == 0) bits = rng.Next();
    to[i] = kAlphabet[bits & 63];
    bits >>= 6;
  }
  return size;
}

void RandomDigits(Rng& rng, size_t size, char* to) {
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<char>('0' + rng.Below(10));
}

}  // namespace latchkey
