#include "tpcc-lite/workload/random_inputs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "tpcc-lite/workload/inputs.h"

namespace latchkey::random_inputs_test {
namespace {

// Fraction of the values, the most popular ones, that together receive `share` of the draws.
double PopularShare(const NonUniform& distribution, double share, uint32_t draws) {
  Rng rng(3);
  std::vector<uint32_t> counts(distribution.high - distribution.low + 1);
  for (uint32_t i = 0; i < draws; ++i) ++counts[distribution.Draw(rng) - distribution.low];
  std::sort(counts.rbegin(), counts.rend());
  double seen = 0;
  size_t values = 0;
  while (seen < share * draws) seen += counts[values++];
  return static_cast<double>(values) / static_cast<double>(counts.size());
}

TEST_CASE("eighty percent of the items ordered are a seventh of all items") {
  const TpccScale sizes = TpccScale::Of(1, 1);
  const NonUniform item = TpccDistributions::ForRun(sizes, 42, 0).item;
  REQUIRE(item.a == 8191);
  REQUIRE(item.high == 100'000);
  CHECK(PopularShare(item, .8, 4'000'000) == Approx(.145).margin(.02));
}

TEST_CASE("draws stay in their range, whatever the constants") {
  Rng rng(5);
  for (const NonUniform& distribution :
       {NonUniform{8191, 1, 100'000, 8000}, NonUniform{1023, 1, 3000, 1},
        NonUniform{255, 0, 999, 255}, NonUniform{0, 1, 3, 0}, NonUniform{0, 0, 0, 0}}) {
    for (int i = 0; i < 10'000; ++i) {
      const uint32_t value = distribution.Draw(rng);
      REQUIRE(value >= distribution.low);
      REQUIRE(value <= distribution.high);
    }
  }
}

TEST_CASE("a full database has the standard's A, a scaled one keeps the proportion") {
  CHECK(ScaledA(8191, 100'000, 100'000) == 8191);
  CHECK(ScaledA(1023, 3'000, 3'000) == 1023);
  CHECK(ScaledA(255, 1'000, 1'000) == 255);
  CHECK(ScaledA(8191, 100'000, 1'000) == 63);
  CHECK(ScaledA(255, 1'000, 1) == 0);
}

TEST_CASE("the constant of a run differs from the load's as clause 2.1.6.1 wants it") {
  const TpccScale sizes = TpccScale::Of(1, 1);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const uint32_t load = TpccDistributions::ForLoad(sizes, seed).last_name.c;
    const uint32_t run = TpccDistributions::ForRun(sizes, seed, load).last_name.c;
    const uint32_t delta = load > run ? load - run : run - load;
    CHECK(delta >= 65);
    CHECK(delta <= 119);
    CHECK(delta != 96);
    CHECK(delta != 112);
  }
}

TEST_CASE("last names are made of the standard's syllables") {
  CHECK(LastName(371).view() == "PRICALLYOUGHT");
  CHECK(LastName(40).view() == "BARPRESBAR");
  CHECK(LastName(0).view() == "BARBARBAR");
  CHECK(LastName(777).view() == "CALLYCALLYCALLY");
  std::set<std::string> all;
  for (uint32_t number = 0; number < 1000; ++number) all.emplace(LastName(number).view());
  CHECK(all.size() == 1000);
}

TEST_CASE("random text has every length of its range") {
  Rng rng(9);
  std::set<size_t> lengths;
  for (int i = 0; i < 1000; ++i) {
    Text<24> text;
    AssignRandom(rng, 12, 24, &text);
    lengths.insert(text.view().size());
  }
  CHECK(lengths.size() == 13);
  CHECK(*lengths.begin() == 12);
  CHECK(*lengths.rbegin() == 24);
}

InputGenerator Generator(const TpccScale& sizes, uint16_t home) {
  return {sizes, TpccDistributions::ForRun(sizes, 42, 0), 42, 0, home};
}

TEST_CASE("every hundred transactions of a user are 45, 43, 4, 4 and 4") {
  TransactionDeck deck;
  Rng rng(1);
  for (int hundred = 0; hundred < 50; ++hundred) {
    std::array<uint32_t, kTpccTransactions> counts{};
    for (int i = 0; i < 100; ++i) ++counts[static_cast<size_t>(deck.Next(rng))];
    CHECK(counts == std::array<uint32_t, kTpccTransactions>{45, 43, 4, 4, 4});
  }
}

TEST_CASE("New-Orders have the standard's shares of remote lines, unused items and lengths") {
  const TpccScale sizes = TpccScale::Of(10, 1);
  InputGenerator generator = Generator(sizes, 3);
  constexpr int kOrders = 50'000;
  double lines = 0, remote = 0, unused = 0;
  for (int i = 0; i < kOrders; ++i) {
    const NewOrderInput input = generator.NewOrder();
    REQUIRE(input.warehouse == 3);
    bool all_local = true;
    for (uint32_t l = 0; l < input.line_count; ++l) {
      const NewOrderInput::Line& line = input.lines[l];
      REQUIRE(line.supply_warehouse >= 1);
      REQUIRE(line.supply_warehouse <= 10);
      if (line.supply_warehouse != 3) ++remote;
      all_local = all_local && line.supply_warehouse == 3;
      if (line.item > sizes.items) {
        REQUIRE(l + 1 == input.line_count);
        ++unused;
      }
    }
    CHECK(all_local == input.all_local);
    lines += input.line_count;
  }
  CHECK(lines / kOrders == Approx(10).epsilon(.01));
  CHECK(remote / lines == Approx(.01).epsilon(.1));
  CHECK(unused / kOrders == Approx(.01).epsilon(.2));
}

TEST_CASE("Payments are remote in 15 and by last name in 60 of a hundred") {
  const TpccScale sizes = TpccScale::Of(10, 1);
  InputGenerator generator = Generator(sizes, 10);
  constexpr int kPayments = 50'000;
  double remote = 0, by_name = 0;
  for (int i = 0; i < kPayments; ++i) {
    const PaymentInput input = generator.Payment();
    REQUIRE(input.customer_warehouse >= 1);
    REQUIRE(input.customer_warehouse <= 10);
    if (input.customer_warehouse != input.warehouse) {
      ++remote;
    } else {
      REQUIRE(input.customer_district == input.district);
    }
    by_name += input.customer.by_name ? 1 : 0;
    REQUIRE(input.amount >= 1'00);
    REQUIRE(input.amount <= 5000'00);
  }
  CHECK(remote / kPayments == Approx(.15).epsilon(.05));
  CHECK(by_name / kPayments == Approx(.60).epsilon(.03));
}

TEST_CASE("one warehouse has nothing remote") {
  const TpccScale sizes = TpccScale::Of(1, .01);
  InputGenerator generator = Generator(sizes, 1);
  for (int i = 0; i < 2'000; ++i) {
    CHECK(generator.NewOrder().all_local);
    CHECK(generator.Payment().customer_warehouse == 1);
  }
}

TEST_CASE("a user without a home works in every warehouse") {
  const TpccScale sizes = TpccScale::Of(4, .01);
  InputGenerator generator = Generator(sizes, 0);
  std::set<uint16_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(generator.Delivery().warehouse);
  CHECK(seen == std::set<uint16_t>{1, 2, 3, 4});
}

}  // namespace
}  // namespace latchkey::random_inputs_test
