#include "tools/campaign/isolation/isolation_campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

#include "storage/base/rng.h"
#include "storage/runtime/simulated_runtime.h"
#include "tools/campaign/isolation/isolation_checker.h"
#include "tools/campaign/isolation/isolation_invariants.h"
#include "tools/campaign/isolation/isolation_replay.h"
#include "tools/campaign/isolation/isolation_workload.h"
#include "tools/campaign/shared/add_members.h"
#include "tools/campaign/shared/campaign_flags.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {
namespace {

constexpr uint32_t kTransactionsPerRound = 4000;

IsolationRound RoundOf(uint64_t seed, uint32_t transactions, bool simulated) {
  Rng rng(seed);
  static constexpr Durability kDurabilities[] = {Durability::kNone, Durability::kNone,
                                                 Durability::kCommit, Durability::kGroup};
  static constexpr uint32_t kSerializable[] = {256, 256, 0, 128};
  IsolationRound round;
  round.seed = seed;
  round.actors = 2 + static_cast<uint32_t>(rng.Below(3));
  round.transactions = transactions;
  round.keys = std::max<uint32_t>(30, transactions / (2 + static_cast<uint32_t>(rng.Below(8))));
  round.serializable_of_256 = kSerializable[rng.Below(4)];
  SetLayout(LayoutItems()[rng.Below(LayoutItems().size())], &round.techniques);
  round.techniques.cleaners = static_cast<uint32_t>(rng.Below(2));
  if (rng.Below(2) == 0) {
    round.version_store_bytes = 32 << 10;
    round.held_snapshots = 3;
  }
  round.durability = kDurabilities[rng.Below(4)];
  round.slow_disks = simulated && rng.Below(4) == 0;
  if (round.slow_disks) {
    round.actors = 4;
    round.durability = Durability::kNone;  // a commit takes no time, and reading a chain takes long
    round.version_store_bytes = 4 << 10;
    round.held_snapshots = 0;
    round.filler_bytes = 40'000;
  }
  return round;
}

void CheckRound(Runtime& runtime, uint64_t seed, uint32_t transactions, bool simulated,
                IsolationCounts* counts) {
  const IsolationRound round = RoundOf(seed, transactions, simulated);
  const absl::StatusOr<ListHistory> history = RunIsolationRound(runtime, round);
  const auto wrong = [&](const std::string& what) {
    counts->wrong.push_back(fmt::format("seed {}: {}", seed, what));
  };
  if (!history.ok()) return wrong(std::string(history.status().message()));
  for (const std::string& line : ReplayCommitOrder(*history)) wrong("replay: " + line);
  const CheckerResult graph = CheckPromises(*history);
  for (const FoundAnomaly& found : graph.found) {
    wrong(fmt::format("{}: {}", NameOf(found.kind), found.what));
  }
  counts->transactions += history->size();
  counts->edges += graph.edges;
  ++counts->histories;
  for (const ListTransaction& txn : *history) {
    counts->committed += txn.committed;
    counts->serializable += txn.committed && txn.serializable;
  }
  const InvariantRound invariant{
      .seed = seed,
      .actors = round.actors,
      .transactions = transactions / 16,
      .isolation = seed % 2 == 0 ? Isolation::kSnapshot : Isolation::kSerializable};
  static constexpr absl::Status (*kWorkloads[])(Runtime&, const InvariantRound&) = {
      RunBank, RunRing, RunBlocks};
  const absl::Status kept = kWorkloads[seed % std::size(kWorkloads)](runtime, invariant);
  if (!kept.ok()) wrong(std::string(kept.message()));
  counts->invariant_transactions += invariant.transactions;
}

void Add(const IsolationCounts& from, IsolationCounts* to) {
  using C = IsolationCounts;
  AddMembers<&C::transactions, &C::committed, &C::serializable, &C::edges,
             &C::invariant_transactions, &C::histories, &C::wrong>(from, to);
}

IsolationCounts CheckRounds(Runtime& runtime, uint64_t seed, uint64_t transactions, uint32_t cells,
                            bool simulated) {
  const auto per_round =
      static_cast<uint32_t>(std::clamp<uint64_t>(transactions / 4, 200, kTransactionsPerRound));
  const uint64_t rounds = (transactions + per_round - 1) / per_round;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::vector<IsolationCounts> counts(cells);
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t cell = 0; cell < cells; ++cell) {
    actors.push_back(runtime.Spawn("cell", [&, cell] {
      for (uint64_t r = next.fetch_add(1); r < rounds && !stop; r = next.fetch_add(1)) {
        CheckRound(runtime, seed + r, per_round, simulated, &counts[cell]);
        if (!counts[cell].wrong.empty()) stop = true;
      }
    }));
  }
  for (const auto& actor : actors) actor->Join();
  IsolationCounts total;
  for (const IsolationCounts& part : counts) Add(part, &total);
  return total;
}

}  // namespace

IsolationCounts CheckIsolation(Runtime& runtime, uint64_t seed, uint64_t transactions,
                               uint32_t cells) {
  return CheckRounds(runtime, seed, transactions, cells, /*simulated=*/false);
}

IsolationCounts CheckIsolationSimulated(uint64_t seed, uint64_t transactions, uint32_t cells) {
  SimulatedRuntime simulation({.seed = seed, .preempt_probability = 0.01});
  IsolationCounts counts;
  const absl::Status ran =
      simulation.Run([&] { counts = CheckRounds(simulation, seed, transactions, cells, true); });
  if (!ran.ok()) counts.wrong.push_back(fmt::format("seed {}: {}", seed, ran.ToString()));
  return counts;
}

int RunIsolationCampaign(const std::vector<std::string>& arguments) {
  CampaignFlags command("Concurrent transactions, checked by replay and by their dependency graph");
  uint64_t transactions = 1'000'000, seed = 42;
  uint32_t cells = 2;
  bool simulated = false;
  command.Add("--transactions", transactions, "Transactions in histories").ShowDefault();
  command.Add("--seed", seed, "Of all random choices").ShowDefault();
  command.Add("--cells", cells, "Databases at a time").Range(1, 64).ShowDefault();
  command.Add("--simulated", simulated,
              "In a simulation: the same seed brings the same transactions together");
  if (const std::optional<int> over = command.Parse(arguments)) return *over;
  Runtime& runtime = ThreadRuntime();
  const Nanos start = runtime.Now();
  const IsolationCounts counts = simulated ? CheckIsolationSimulated(seed, transactions, cells)
                                           : CheckIsolation(runtime, seed, transactions, cells);
  const double seconds = static_cast<double>(runtime.Now() - start) / kNanosPerSecond;
  for (const std::string& line : counts.wrong) fmt::print("WRONG {}\n", line);
  fmt::print(
      "isolation: {} transactions in {} histories checked ({} committed, {} of them serializable; "
      "{} dependencies), {} transactions of bank, ring and blocks, {} mistakes; seed {}, {:.1f} "
      "s\n",
      counts.transactions, counts.histories, counts.committed, counts.serializable, counts.edges,
      counts.invariant_transactions, counts.wrong.size(), seed, seconds);
  fmt::print(
      "counts: isolation transactions={} committed={} serializable={} histories={} dependencies={} "
      "invariant_transactions={} mistakes={} seconds={:.0f}\n",
      counts.transactions, counts.committed, counts.serializable, counts.histories, counts.edges,
      counts.invariant_transactions, counts.wrong.size(), seconds);
  return counts.wrong.empty() ? 0 : 1;
}

}  // namespace latchkey
