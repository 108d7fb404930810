// The checker must find each planted anomaly, name it correctly, and find none in sound histories.
#include "tools/campaign/isolation/isolation_checker.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::isolation_checker_test {
namespace {

ListOperation Append(uint32_t key, Element element) {
  return {.is_append = true, .key = key, .element = element, .list = {}};
}
ListOperation Read(uint32_t key, std::vector<Element> list) {
  return {.is_append = false, .key = key, .element = 0, .list = std::move(list)};
}
ListTransaction Txn(std::vector<ListOperation> operations, bool committed = true) {
  ListTransaction txn;
  txn.committed = committed;
  txn.serializable = true;
  txn.operations = std::move(operations);
  return txn;
}

void ExpectOnly(const ListHistory& history, Anomaly kind) {
  const CheckerResult result = CheckHistory(history);
  for (const FoundAnomaly& found : result.found) INFO(NameOf(found.kind) << ": " << found.what);
  CHECK(result.Has(kind));
  for (const FoundAnomaly& found : result.found) CHECK(NameOf(found.kind) == NameOf(kind));
}

TEST_CASE("a serial history shows no anomaly") {
  CHECK(CheckHistory({}).found.empty());
  const ListHistory history = {
      Txn({Append(1, 10), Append(1, 11)}),
      Txn({Read(1, {10, 11}), Append(2, 20), Read(2, {20})}),
      Txn({Append(1, 12)}, /*committed=*/false),
      Txn({Read(2, {20}), Append(1, 13)}),
      Txn({Read(1, {10, 11, 13}), Read(2, {20}), Read(3, {})}),
  };
  const CheckerResult result = CheckHistory(history);
  CHECK(result.found.empty());
  CHECK(result.edges > 0);
}

TEST_CASE("writes in two orders are G0") {
  ExpectOnly({Txn({Append(1, 10), Append(2, 20)}), Txn({Append(1, 11), Append(2, 21)}),
              Txn({Read(1, {10, 11}), Read(2, {21, 20})})},
             Anomaly::kG0);
}

TEST_CASE("a read of an aborted append is G1a") {
  ExpectOnly({Txn({Append(1, 10)}, /*committed=*/false), Txn({Read(1, {10})})}, Anomaly::kG1a);
}

TEST_CASE("a read between two appends of one transaction is G1b") {
  const CheckerResult result = CheckHistory(
      {Txn({Append(1, 10), Append(1, 11)}), Txn({Read(1, {10})}), Txn({Read(1, {10, 11})})});
  CHECK(result.Has(Anomaly::kG1b));
}

TEST_CASE("two transactions that read each other's appends are G1c") {
  ExpectOnly({Txn({Append(1, 10), Read(2, {20})}), Txn({Append(2, 20), Read(1, {10})}),
              Txn({Read(1, {10}), Read(2, {20})})},
             Anomaly::kG1c);
}

TEST_CASE("a read of half a transaction is G-single") {
  ExpectOnly({Txn({Append(1, 10), Append(2, 20)}), Txn({Read(1, {10}), Read(2, {})}),
              Txn({Read(1, {10}), Read(2, {20})})},
             Anomaly::kGSingle);
}

TEST_CASE("a lost update is G-single or worse") {
  const CheckerResult result =
      CheckHistory({Txn({Read(1, {}), Append(1, 10)}), Txn({Read(1, {}), Append(1, 11)}),
                    Txn({Read(1, {10, 11})})});
  CHECK(result.Has(Anomaly::kGSingle));
}

TEST_CASE("write skew is G2, and only what was promised against") {
  ListHistory history = {Txn({Read(1, {}), Append(2, 20)}), Txn({Read(2, {}), Append(1, 10)}),
                         Txn({Read(1, {10}), Read(2, {20})})};
  ExpectOnly(history, Anomaly::kG2);
  CHECK(CheckPromises(history).Has(Anomaly::kG2));
  history[1].serializable = false;
  CHECK(CheckPromises(history).found.empty());
}

TEST_CASE("an anomaly of reads only, which snapshot isolation allows, is G2") {
  // Fekete, O'Neil, O'Neil 2004: the reader sees the second but not the first.
  const ListHistory history = {Txn({Read(2, {}), Append(1, 10)}), Txn({Append(2, 20)}),
                               Txn({Read(1, {}), Read(2, {20})}),
                               Txn({Read(1, {10}), Read(2, {20})})};
  ExpectOnly(history, Anomaly::kG2);
}

TEST_CASE("lost, repeated, forked and unexplained lists are told apart") {
  CHECK(CheckHistory({Txn({Append(1, 10)}), Txn({Read(1, {})})}).Has(Anomaly::kLost));
  CHECK(CheckHistory({Txn({Append(1, 10)}), Txn({Read(1, {10, 10})})}).Has(Anomaly::kMalformed));
  CHECK(CheckHistory({Txn({Read(1, {99})})}).Has(Anomaly::kMalformed));
  CHECK(CheckHistory({Txn({Append(1, 10)}), Txn({Append(1, 11)}), Txn({Read(1, {11})}),
                      Txn({Read(1, {10, 11})})})
            .Has(Anomaly::kForked));
  CHECK(CheckHistory({Txn({Append(1, 10), Read(1, {10}), Append(1, 11), Read(1, {10})}),
                      Txn({Read(1, {10, 11})})})
            .Has(Anomaly::kInternal));
}

// A long serial history; then one in which a single read is stale.
ListHistory Serial(Rng& rng, size_t transactions, uint32_t keys) {
  ListHistory history;
  std::vector<std::vector<Element>> state(keys);
  Element next = 1;
  for (size_t t = 0; t < transactions; ++t) {
    std::vector<ListOperation> operations;
    for (int i = 0; i < 3; ++i) {
      const auto key = static_cast<uint32_t>(rng.Below(keys));
      operations.push_back(Read(key, state[key]));
      if (rng.Below(2) != 0) continue;
      operations.push_back(Append(key, next));
      state[key].push_back(next++);
    }
    history.push_back(Txn(std::move(operations)));
  }
  std::vector<ListOperation> all;
  for (uint32_t key = 0; key < keys; ++key) all.push_back(Read(key, state[key]));
  history.push_back(Txn(std::move(all)));
  return history;
}

TEST_CASE("one stale read in a long serial history is found, and nothing without it") {
  const uint64_t seed = GENERATE(range(1, 9));
  Rng rng(seed);
  ListHistory history = Serial(rng, 2000, 40);
  CHECK(CheckHistory(history).found.empty());
  for (size_t t = 1000; t < history.size(); ++t) {
    std::vector<ListOperation>& operations = history[t].operations;
    // A transaction that read an element before and appends to the key has not missed the element.
    if (operations.size() < 2 || operations[0].is_append || !operations[1].is_append) continue;
    if (operations[0].list.size() < 2 || operations.size() != 4 || operations[2].is_append ||
        operations[2].key == operations[0].key) {
      continue;
    }
    operations[0].list.pop_back();
    break;
  }
  CHECK_FALSE(CheckHistory(history).found.empty());
}

}  // namespace
}  // namespace latchkey::isolation_checker_test
