#include "tools/campaign/kills/kill_workload.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/shared/seed_range.h"

namespace latchkey {
namespace {

constexpr uint64_t kKeysPerThread = 1000;
constexpr uint32_t kPassingRows = 20;
constexpr char kPassingTree[] = "passing";
constexpr char kTicketKey[] = "ticket";

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInternal, format, std::forward<Args>(args)...);
}

std::string RowKey(uint64_t number, uint32_t thread) {
  return fmt::format("{:05}/{:02}", number % kKeysPerThread, thread);
}
std::string OrderKey(uint64_t ticket) { return fmt::format("order/{:02}", ticket % kTickets); }

std::string SomeValue(Rng& rng) {
  const uint64_t dice = rng.Below(100);
  size_t size = 20 + rng.Below(280);
  if (dice >= 90) size = 300 + rng.Below(1200);
  if (dice >= 98) size = 5'000 + rng.Below(12'000);
  std::string value = fmt::format("{:016x}", rng.Next());
  value.resize(size, static_cast<char>('a' + rng.Below(26)));
  return value;
}

std::vector<KillWrite> SomeWrites(Rng& rng, uint32_t thread, uint64_t count) {
  std::vector<KillWrite> writes(count);
  for (KillWrite& write : writes) {
    write.key = RowKey(rng.Below(kKeysPerThread), thread);
    if (rng.Below(4) != 0) write.value = SomeValue(rng);
  }
  return writes;
}

// Deletes whole ranges, so that pages become empty and merge.
std::vector<KillWrite> DeletedRange(Rng& rng, uint32_t thread) {
  std::vector<KillWrite> writes(60);
  uint64_t number = rng.Below(kKeysPerThread);
  for (KillWrite& write : writes) write.key = RowKey(number++, thread);
  return writes;
}

// UINT64_MAX: the key is no row of the campaign.
uint64_t ThreadOf(std::string_view row_key) {
  const size_t slash = row_key.find('/');
  if (slash == std::string_view::npos) return UINT64_MAX;
  return ParseNumber(row_key.substr(slash + 1)).value_or(UINT64_MAX);
}

// The number stored under `key`; 0: no such key.
absl::StatusOr<uint64_t> NumberAt(Transaction& transaction, Tree tree, const std::string& key) {
  std::string value;
  const absl::Status got = transaction.Get(tree, key, &value);
  if (absl::IsNotFound(got)) return uint64_t{0};
  LATCHKEY_RETURN_IF_ERROR(got);
  const std::optional<uint64_t> number = ParseNumber(value);
  if (!number) return Wrong("\"{}\" is \"{}\" instead of a number", key, value);
  return *number;
}

class Check {
 public:
  Check(Database& db, const KillTrees& trees, uint64_t seed, std::vector<KillThreadModel>& models)
      : trees_(trees), seed_(seed), models_(models), snapshot_(db.Begin({.read_only = true})) {}

  absl::Status Heads(std::span<const KillBounds> bounds) {
    for (uint32_t t = 0; t < models_.size(); ++t) {
      LATCHKEY_ASSIGN_OR_RETURN(const uint64_t found,
                                NumberAt(snapshot_, trees_.notes, KillHeadKey(t)));
      if (found < bounds[t].promised) {
        return Wrong("thread {}: transaction {} was acknowledged, the newest found is {}", t,
                     bounds[t].promised, found);
      }
      if (found > bounds[t].submitted) {
        return Wrong("thread {}: transaction {} was found, the newest submitted is {}", t, found,
                     bounds[t].submitted);
      }
      models_[t].AdvanceTo(found);
    }
    return absl::OkStatus();
  }

  absl::Status Rows() {
    std::vector<size_t> found(models_.size());
    Cursor cursor = snapshot_.NewCursor(trees_.rows);
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      const std::string key(cursor.key());
      const uint64_t thread = ThreadOf(key);
      if (thread >= models_.size()) return Wrong("a row \"{}\" that nobody wrote", key);
      const auto& rows = models_[thread].rows();
      const auto expected = rows.find(key);
      if (expected == rows.end()) {
        return Wrong("row \"{}\" is there, but not after transaction {}", key,
                     models_[thread].sequence());
      }
      if (expected->second != cursor.value()) {
        return Wrong("row \"{}\" has another value than after transaction {}", key,
                     models_[thread].sequence());
      }
      ++found[thread];
    }
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
    for (uint32_t t = 0; t < models_.size(); ++t) {
      if (found[t] == models_[t].rows().size()) continue;
      return Wrong("thread {}: {} rows instead of {} after transaction {}", t, found[t],
                   models_[t].rows().size(), models_[t].sequence());
    }
    return absl::OkStatus();
  }

  absl::Status Tickets() {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t newest, NumberAt(snapshot_, trees_.notes, kTicketKey));
    uint64_t taken = 0;
    for (const KillThreadModel& model : models_) taken += model.tickets();
    if (taken != newest) {
      return Wrong(
          "{} tickets are taken, but the transactions found took {}: a commit is missing "
          "that others rest on",
          newest, taken);
    }
    std::vector<uint64_t> last(models_.size());
    const uint64_t oldest = newest < kTickets ? 1 : newest - kTickets + 1;
    for (uint64_t ticket = oldest; ticket <= newest; ++ticket) {
      LATCHKEY_RETURN_IF_ERROR(OneTicket(ticket, last));
    }
    return absl::OkStatus();
  }

 private:
  // The tickets of a thread follow the order of its transactions.
  absl::Status OneTicket(uint64_t ticket, std::vector<uint64_t>& last) {
    std::string holder;
    LATCHKEY_RETURN_IF_ERROR(snapshot_.Get(trees_.notes, OrderKey(ticket), &holder));
    for (uint32_t t = 0; t < models_.size(); ++t) {
      const std::string prefix = fmt::format("{} {} ", ticket, t);
      if (!holder.starts_with(prefix)) continue;
      const uint64_t sequence =
          ParseNumber(std::string_view(holder).substr(prefix.size())).value_or(0);
      if (sequence <= last[t] || sequence > models_[t].sequence() ||
          !MakeKillTransaction(seed_, t, sequence).takes_ticket) {
        break;
      }
      last[t] = sequence;
      return absl::OkStatus();
    }
    return Wrong("ticket {} is held by \"{}\"", ticket, holder);
  }

  const KillTrees& trees_;
  const uint64_t seed_;
  std::vector<KillThreadModel>& models_;
  Transaction snapshot_;
};

std::string PassingKey(uint32_t row) { return fmt::format("passing {:02}", row); }
std::string PassingValue(uint32_t row) { return std::string(100 + row, 'p'); }

// The tree is dropped, empty, or holds all rows of its batch.
absl::Status CheckPassingTree(Database& db) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<uint32_t> rows,
                            CountRows(db, kPassingTree, PassingKey, PassingValue));
  if (!rows || *rows == 0 || *rows == kPassingRows) return absl::OkStatus();
  return Wrong("a batch of {} rows left {} of them", kPassingRows, *rows);
}

}  // namespace

absl::StatusOr<std::optional<uint32_t>> CountRows(
    Database& db, std::string_view name, absl::FunctionRef<std::string(uint32_t)> key_of,
    absl::FunctionRef<std::string(uint32_t)> value_of) {
  const absl::StatusOr<Tree> tree = db.OpenTree(name, /*create=*/false);
  if (absl::IsNotFound(tree.status())) return std::nullopt;
  LATCHKEY_RETURN_IF_ERROR(tree.status());
  Transaction snapshot = db.Begin({.read_only = true});
  Cursor cursor = snapshot.NewCursor(*tree);
  uint32_t rows = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++rows) {
    if (cursor.key() != key_of(rows) || cursor.value() != value_of(rows)) {
      return Wrong("row \"{}\" of the tree \"{}\" is wrong", cursor.key(), name);
    }
  }
  LATCHKEY_RETURN_IF_ERROR(cursor.status());
  return rows;
}

KillTransaction MakeKillTransaction(uint64_t seed, uint32_t thread, uint64_t sequence) {
  Rng rng(MixHash(seed + MixHash(thread + 1)) + sequence);
  KillTransaction transaction;
  const uint64_t dice = rng.Below(40);
  if (dice == 0) {
    transaction.writes = DeletedRange(rng, thread);
  } else {
    transaction.writes = SomeWrites(rng, thread, dice < 5 ? 30 : 1 + rng.Below(4));
  }
  transaction.takes_ticket = rng.Below(6) == 0;
  transaction.is_batch = !transaction.takes_ticket && rng.Below(5) == 0;
  if (rng.Below(10) == 0) transaction.rolled_back = SomeWrites(rng, thread, 1 + rng.Below(8));
  if (!transaction.is_batch && rng.Below(10) == 0) {
    transaction.in_vain = SomeWrites(rng, thread, 1 + rng.Below(8));
  }
  return transaction;
}

void KillThreadModel::AdvanceTo(uint64_t sequence) {
  LATCHKEY_CHECK(sequence >= sequence_);
  while (sequence_ < sequence) Apply(MakeKillTransaction(seed_, thread_, sequence_ + 1));
}

void KillThreadModel::Apply(const KillTransaction& transaction) {
  ++sequence_;
  tickets_ += transaction.takes_ticket ? 1 : 0;
  for (const KillWrite& write : transaction.writes) {
    if (write.value) {
      rows_[write.key] = *write.value;
    } else {
      rows_.erase(write.key);
    }
  }
}

absl::StatusOr<KillTrees> OpenKillTrees(Database& db) {
  KillTrees trees;
  LATCHKEY_ASSIGN_OR_RETURN(trees.rows, db.OpenTree("rows"));
  LATCHKEY_ASSIGN_OR_RETURN(trees.notes, db.OpenTree("notes"));
  return trees;
}

std::string KillHeadKey(uint32_t thread) { return fmt::format("head/{:02}", thread); }

absl::Status TakeTicket(Transaction& transaction, Tree notes, uint32_t thread, uint64_t sequence) {
  std::string text;
  const absl::Status got = transaction.GetForUpdate(notes, kTicketKey, &text);
  if (!got.ok() && !absl::IsNotFound(got)) return got;
  const std::optional<uint64_t> newest = got.ok() ? ParseNumber(text) : 0;
  if (!newest) return Wrong("the newest ticket is \"{}\"", text);
  const uint64_t ticket = *newest + 1;
  LATCHKEY_RETURN_IF_ERROR(transaction.Put(notes, kTicketKey, std::to_string(ticket)));
  return transaction.Put(notes, OrderKey(ticket),
                         fmt::format("{} {} {}", ticket, thread, sequence));
}

absl::Status MakeAndDropTree(Database& db) {
  LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, db.OpenTree(kPassingTree));
  WriteBatch batch;
  for (uint32_t row = 0; row < kPassingRows; ++row) {
    batch.Put(tree, PassingKey(row), PassingValue(row));
  }
  LATCHKEY_RETURN_IF_ERROR(db.Write(batch));
  return db.DropTree(kPassingTree);
}

absl::Status CheckKillStore(Database& db, const KillTrees& trees, uint64_t seed,
                            std::span<const KillBounds> bounds,
                            std::vector<KillThreadModel>& models) {
  LATCHKEY_CHECK(bounds.size() == models.size());
  {
    Check check(db, trees, seed, models);
    LATCHKEY_RETURN_IF_ERROR(check.Heads(bounds));
    LATCHKEY_RETURN_IF_ERROR(check.Rows());
    LATCHKEY_RETURN_IF_ERROR(check.Tickets());
  }
  LATCHKEY_RETURN_IF_ERROR(CheckPassingTree(db));
  return db.Verify();
}

}  // namespace latchkey
