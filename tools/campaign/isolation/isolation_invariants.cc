#include "tools/campaign/isolation/isolation_invariants.h"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint32_t kPlaces = 40;
constexpr int64_t kStart = 1000;

std::string KeyOf(uint64_t place) { return fmt::format("{:04}", place); }

struct Stage {
  DatabaseImpl& db;
  TreeImpl& tree;
};
using Body = std::function<absl::Status(Stage&, TransactionImpl&, Rng&)>;

absl::StatusOr<int64_t> Load(Stage& stage, TransactionImpl& txn, uint64_t place) {
  std::string value;
  LATCHKEY_RETURN_IF_ERROR(txn.Get(stage.tree, KeyOf(place), &value));
  return std::stoll(value);
}
absl::Status Store(Stage& stage, TransactionImpl& txn, uint64_t place, int64_t value) {
  return txn.Put(stage.tree, KeyOf(place), std::to_string(value));
}

// Runs `body` as transactions of several actors. Aborted transactions count as run.
absl::Status RunBeside(Runtime& runtime, const InvariantRound& round,
                       const std::function<int64_t(uint32_t)>& first, const Body& body) {
  Options options;
  options.in_memory_device = true;
  options.durability = Durability::kNone;
  options.cache_bytes = 4 << 20;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            DatabaseImpl::Open(runtime, "invariants", options));
  LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db->OpenTree("places", /*create=*/true));
  Stage stage{.db = *db, .tree = *tree};
  const absl::Status loaded = db->RunTransaction([&](TransactionImpl& txn) -> absl::Status {
    for (uint32_t p = 0; p < kPlaces; ++p) {
      LATCHKEY_RETURN_IF_ERROR(Store(stage, txn, p, first(p)));
    }
    return absl::OkStatus();
  });
  LATCHKEY_RETURN_IF_ERROR(loaded);
  std::atomic<uint32_t> started{0};
  std::vector<absl::Status> ends(round.actors);
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t a = 0; a < round.actors; ++a) {
    actors.push_back(runtime.Spawn("invariant", [&, a] {
      Rng rng(round.seed * 1000 + a);
      while (ends[a].ok() && started.fetch_add(1) < round.transactions) {
        const auto txn = stage.db.Begin({.isolation = round.isolation});
        absl::Status status = body(stage, *txn, rng);
        if (status.ok()) status = txn->Commit();
        if (!absl::IsAborted(status)) ends[a] = status;
      }
    }));
  }
  for (const auto& actor : actors) actor->Join();
  for (const absl::Status& end : ends) LATCHKEY_RETURN_IF_ERROR(end);
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  return db->Close();
}

absl::Status AddUp(Stage& stage, TransactionImpl& txn, bool forward) {
  int64_t total = 0;
  CursorImpl cursor(txn, &stage.tree, {});
  for (forward ? cursor.SeekToFirst() : cursor.SeekToLast(); cursor.Valid();
       forward ? cursor.Next() : cursor.Prev()) {
    total += std::stoll(std::string(cursor.value()));
  }
  LATCHKEY_RETURN_IF_ERROR(cursor.status());
  if (total == kStart * kPlaces) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kInternal, "the accounts hold {} instead of {}", total,
                    kStart * kPlaces);
}

absl::Status Transfer(Stage& stage, TransactionImpl& txn, Rng& rng) {
  const uint64_t from = rng.Below(kPlaces), to = rng.Below(kPlaces);
  const int64_t amount = rng.Between(1, 50);
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t before, Load(stage, txn, from));
  LATCHKEY_RETURN_IF_ERROR(Store(stage, txn, from, before - amount));
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t there, Load(stage, txn, to));
  return Store(stage, txn, to, there + amount);
}

absl::Status GoAround(Stage& stage, TransactionImpl& txn) {
  uint64_t at = 0;
  for (uint32_t steps = 1; steps <= kPlaces; ++steps) {
    LATCHKEY_ASSIGN_OR_RETURN(const int64_t next, Load(stage, txn, at));
    at = static_cast<uint64_t>(next);
    if (at == 0 && steps == kPlaces) return absl::OkStatus();
    if (at == 0) {
      return MakeStatus(absl::StatusCode::kInternal, "the ring closes after {} of {} places", steps,
                        kPlaces);
    }
  }
  return MakeStatus(absl::StatusCode::kInternal, "the ring does not close after {} places",
                    kPlaces);
}

// a -> b -> c -> d becomes a -> c -> b -> d.
absl::Status Exchange(Stage& stage, TransactionImpl& txn, Rng& rng) {
  const uint64_t a = rng.Below(kPlaces);
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t b, Load(stage, txn, a));
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t c, Load(stage, txn, static_cast<uint64_t>(b)));
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t d, Load(stage, txn, static_cast<uint64_t>(c)));
  LATCHKEY_RETURN_IF_ERROR(Store(stage, txn, a, c));
  LATCHKEY_RETURN_IF_ERROR(Store(stage, txn, static_cast<uint64_t>(c), b));
  return Store(stage, txn, static_cast<uint64_t>(b), d);
}

// ---- Blocks: neighbouring keys that are written together and deleted together

constexpr uint64_t kBlockKeys = 10;

KeyRange BlockRange(uint64_t block) {
  return {.from = KeyOf(block * kBlockKeys), .to = KeyOf((block + 1) * kBlockKeys)};
}

// Long, so that a block is some leaves.
std::string BlockValue(int64_t number) { return std::to_string(number) + std::string(900, '.'); }

// The number that all keys of the block hold; -1 = none of them is there.
absl::StatusOr<int64_t> ReadBlock(Stage& stage, TransactionImpl& txn, uint64_t block) {
  uint64_t count = 0;
  int64_t number = -1;
  CursorImpl cursor(txn, &stage.tree, BlockRange(block));
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++count) {
    const int64_t found = std::stoll(std::string(cursor.value()));
    if (count != 0 && found != number) {
      return MakeStatus(absl::StatusCode::kInternal, "block {} holds the numbers {} and {}", block,
                        number, found);
    }
    number = found;
  }
  LATCHKEY_RETURN_IF_ERROR(cursor.status());
  if (count == 0 || count == kBlockKeys) return number;
  return MakeStatus(absl::StatusCode::kInternal, "block {} holds {} keys instead of none or {}",
                    block, count, kBlockKeys);
}

absl::Status WriteBlock(Stage& stage, TransactionImpl& txn, uint64_t block, int64_t number) {
  for (uint64_t i = 0; i < kBlockKeys; ++i) {
    LATCHKEY_RETURN_IF_ERROR(
        txn.Put(stage.tree, KeyOf(block * kBlockKeys + i), BlockValue(number)));
  }
  return absl::OkStatus();
}

absl::Status UseBlocks(Stage& stage, TransactionImpl& txn, Rng& rng) {
  const uint64_t block = rng.Below(kPlaces / kBlockKeys);
  const uint64_t what = rng.Below(8);
  if (what == 0) return stage.db.DeleteRange(stage.tree, BlockRange(block));
  if (what > 4) return WriteBlock(stage, txn, block, rng.Between(1, 1000));
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t number, ReadBlock(stage, txn, block));
  if (what > 2) return WriteBlock(stage, txn, block, number + 1);
  // A snapshot shows a block as it was, whatever is deleted between its two reads.
  LATCHKEY_RETURN_IF_ERROR(ReadBlock(stage, txn, rng.Below(kPlaces / kBlockKeys)).status());
  LATCHKEY_ASSIGN_OR_RETURN(const int64_t again, ReadBlock(stage, txn, block));
  if (again == number) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kInternal, "a snapshot showed block {} with {}, then with {}",
                    block, number, again);
}

}  // namespace

absl::Status RunBank(Runtime& runtime, const InvariantRound& round) {
  return RunBeside(
      runtime, round, [](uint32_t) { return kStart; },
      [](Stage& stage, TransactionImpl& txn, Rng& rng) {
        return rng.Below(8) == 0 ? AddUp(stage, txn, rng.Below(2) == 0) : Transfer(stage, txn, rng);
      });
}

absl::Status RunRing(Runtime& runtime, const InvariantRound& round) {
  return RunBeside(
      runtime, round, [](uint32_t place) { return int64_t{(place + 1) % kPlaces}; },
      [](Stage& stage, TransactionImpl& txn, Rng& rng) {
        return rng.Below(8) == 0 ? GoAround(stage, txn) : Exchange(stage, txn, rng);
      });
}

absl::Status RunBlocks(Runtime& runtime, const InvariantRound& round) {
  return RunBeside(
      runtime, round, [](uint32_t) { return int64_t{0}; }, UseBlocks);
}

}  // namespace latchkey
