#include "tools/campaign/isolation/isolation_workload.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_recorder.h"

namespace latchkey {
namespace {

std::string KeyOf(uint32_t key) { return fmt::format("key{:06}", key); }
uint32_t NumberOf(std::string_view key) {
  return static_cast<uint32_t>(std::stoul(std::string(key.substr(3))));
}

// One in this many keys has a list that is padded to lie in an overflow chain.
constexpr uint32_t kKeysPerLongOne = 16;
constexpr Element kGarbage = UINT64_MAX;  // no transaction appends this element

char FillerOf(const std::vector<Element>& list) {
  return static_cast<char>('a' + list.back() % 26);
}

// Its length, its elements, and the filler.
std::string Encode(const std::vector<Element>& list, size_t filler_bytes) {
  const uint64_t size = list.size();
  std::string bytes(sizeof(size) + size * sizeof(Element), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + sizeof(size), list.data(), size * sizeof(Element));
  bytes.append(filler_bytes, FillerOf(list));
  return bytes;
}

// Bytes that are no list of any transaction give a list with kGarbage in it.
std::vector<Element> Decode(std::string_view bytes) {
  uint64_t size = 0;
  if (bytes.empty()) return {};
  if (bytes.size() < sizeof(size)) return {kGarbage};
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes.remove_prefix(sizeof(size));
  if (size == 0 || size > bytes.size() / sizeof(Element)) return {kGarbage};
  std::vector<Element> list(size);
  std::memcpy(list.data(), bytes.data(), size * sizeof(Element));
  bytes.remove_prefix(size * sizeof(Element));
  if (bytes.find_first_not_of(FillerOf(list)) != std::string_view::npos) list.push_back(kGarbage);
  return list;
}

// Shared by all users of a round.
struct Shared {
  const IsolationRound& round;
  DatabaseImpl& db;
  TreeImpl& tree;
  std::atomic<uint64_t> next_element{1};
  std::atomic<uint32_t> started{0};
  std::atomic<bool> failed{false};
  std::atomic<bool> users_have_ended{false};
};

class User {
 public:
  /// `is_slow`: it lets others run in the middle of some of its transactions. REQUIRES: at most one is.
  User(Runtime& runtime, Shared& shared, uint64_t seed, bool is_slow)
      : runtime_(runtime), shared_(shared), rng_(seed), is_slow_(is_slow) {}

  absl::Status Run() {
    while (shared_.started.fetch_add(1) < shared_.round.transactions && !shared_.failed) {
      ListTransaction txn;
      if (absl::Status status = RunOne(&txn); !status.ok()) {
        shared_.failed = true;
        return status;
      }
      history_.push_back(std::move(txn));
    }
    return absl::OkStatus();
  }
  ListHistory TakeHistory() { return std::move(history_); }

 private:
  absl::Status RunOne(ListTransaction* txn) {
    const bool waits = is_slow_ && rng_.Below(8) == 0;
    txn->serializable = !waits && rng_.Below(256) < shared_.round.serializable_of_256;
    const bool reads_only = rng_.Below(5) == 0;
    const bool declared = reads_only && rng_.Below(2) == 0;
    transaction_ = shared_.db.Begin(
        {.isolation = txn->serializable ? Isolation::kSerializable : Isolation::kSnapshot,
         .read_only = declared});
    const uint64_t operations = 1 + rng_.Below(waits ? 2 : 5);
    absl::Status status;
    since_wait_.reset();
    if (waits) {
      status = Read(txn, Key(), /*lock=*/false).status();
      const uint32_t before = FirstHotKey();
      WaitForOthers();
      since_wait_ = before;
    }
    for (uint64_t i = 0; i < operations && status.ok(); ++i) {
      const bool looks = reads_only || rng_.Below(2) == 0;
      status = !looks                            ? Append(txn)
               : !declared && rng_.Below(6) == 0 ? DeleteMissing(txn)
                                                 : Look(txn);
    }
    const Txn& inner = transaction_->txn();
    if (status.ok()) txn->read_ts = inner.has_snapshot() ? inner.snapshot().read_ts : 0;
    if (status.ok() && rng_.Below(20) == 0) return transaction_->Rollback();
    if (status.ok()) status = transaction_->Commit();
    txn->committed = status.ok();
    txn->commit_ts = status.ok() ? transaction_->last_commit() : 0;
    // The small version store of slow disks has no room for the undo of a long list.
    const bool is_too_large =
        shared_.round.slow_disks && absl::IsResourceExhausted(status) &&
        absl::StrContains(status.message(), "the undo of this transaction takes");
    return absl::IsAborted(status) || is_too_large ? absl::OkStatus() : status;
  }

  // Its snapshot is a long one then, for which gaps are noted, and the versions of keys that came into
  // them have settled. A serializable transaction would keep the others' commits from settling.
  void WaitForOthers() {
    constexpr uint32_t kTransactions = 1500;
    const uint32_t until = std::min(shared_.started + kTransactions, shared_.round.transactions);
    while (shared_.started < until && !shared_.failed) runtime_.SleepFor(20 * kNanosPerMicro);
  }

  absl::Status Look(ListTransaction* txn) {
    return rng_.Below(4) == 0 ? Scan(txn) : Read(txn, Key(), /*lock=*/false).status();
  }

  // A delete that finds nothing is a read of the missing key. One that finds a list is undone.
  absl::Status DeleteMissing(ListTransaction* txn) {
    const uint32_t key = Key();
    LATCHKEY_ASSIGN_OR_RETURN(const Savepoint savepoint, transaction_->SetSavepoint());
    const absl::Status done = transaction_->Delete(shared_.tree, KeyOf(key));
    if (done.ok()) return transaction_->RollbackTo(savepoint);
    if (!absl::IsNotFound(done)) return done;
    txn->operations.push_back({.is_append = false, .key = key, .element = 0, .list = {}});
    return absl::OkStatus();
  }

  size_t FillerBytes(uint32_t key) const {
    return key % kKeysPerLongOne == 5 ? shared_.round.filler_bytes : 0;
  }

  absl::Status PutList(uint32_t key, const std::vector<Element>& list) {
    return transaction_->Put(shared_.tree, KeyOf(key), Encode(list, FillerBytes(key)));
  }

  absl::StatusOr<std::vector<Element>> Read(ListTransaction* txn, uint32_t key, bool lock) {
    std::string bytes;
    const absl::Status got = lock ? transaction_->GetForUpdate(shared_.tree, KeyOf(key), &bytes)
                                  : transaction_->Get(shared_.tree, KeyOf(key), &bytes);
    if (absl::IsNotFound(got)) bytes.clear();
    if (!got.ok() && !absl::IsNotFound(got)) return got;
    std::vector<Element> list = Decode(bytes);
    txn->operations.push_back({.is_append = false, .key = key, .element = 0, .list = list});
    return list;
  }

  absl::Status Append(ListTransaction* txn) {
    const uint32_t key = Key();
    LATCHKEY_ASSIGN_OR_RETURN(std::vector<Element> list, Read(txn, key, rng_.Below(4) == 0));
    if (list.size() >= shared_.round.appends_per_key) return absl::OkStatus();
    // Sometimes sets a savepoint, writes, and returns to it. No reader may see these writes.
    if (rng_.Below(8) == 0) LATCHKEY_RETURN_IF_ERROR(AppendInVain(key, list));
    const Element element = shared_.next_element.fetch_add(1);
    list.push_back(element);
    LATCHKEY_RETURN_IF_ERROR(PutList(key, list));
    txn->operations.push_back({.is_append = true, .key = key, .element = element, .list = {}});
    return absl::OkStatus();
  }

  absl::Status AppendInVain(uint32_t key, std::vector<Element> list) {
    LATCHKEY_ASSIGN_OR_RETURN(const Savepoint savepoint, transaction_->SetSavepoint());
    list.push_back(shared_.next_element.fetch_add(1));
    LATCHKEY_RETURN_IF_ERROR(PutList(key, list));
    return transaction_->RollbackTo(savepoint);
  }

  // Scans a range in one of the two directions: a read of every key in it, missing keys included.
  absl::Status Scan(ListTransaction* txn) {
    const uint32_t from = Key(), to = from + 1 + static_cast<uint32_t>(rng_.Below(8));
    const bool forward = rng_.Below(2) == 0;
    CursorImpl cursor(*transaction_, &shared_.tree, {.from = KeyOf(from), .to = KeyOf(to)});
    std::vector<std::vector<Element>> lists(to - from);
    forward ? cursor.SeekToFirst() : cursor.SeekToLast();
    while (cursor.Valid()) {
      lists[NumberOf(cursor.key()) - from] = Decode(cursor.value());
      forward ? cursor.Next() : cursor.Prev();
    }
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
    for (uint32_t i = 0; i < lists.size(); ++i) {
      if (from + i >= shared_.round.keys) continue;
      txn->operations.push_back(
          {.is_append = false, .key = from + i, .element = 0, .list = std::move(lists[i])});
    }
    return absl::OkStatus();
  }

  uint32_t FirstHotKey() const {
    return static_cast<uint32_t>(uint64_t{shared_.round.keys} * shared_.started.load() /
                                 (shared_.round.transactions + 1));
  }

  // All users work on a few keys at a time, which change in the course of the round, and on those that
  // they have left behind. So the tree grows at its end. A transaction that has waited also works on the
  // keys that came meanwhile: it must not write them.
  uint32_t Key() {
    constexpr uint64_t kHot = 24;
    const uint64_t keys = shared_.round.keys;
    const uint64_t at = FirstHotKey();
    if (since_wait_ && at > *since_wait_ && rng_.Below(8) != 0) {
      return *since_wait_ + static_cast<uint32_t>(rng_.Below(at - *since_wait_));
    }
    const uint64_t hot = at + rng_.Below(kHot);
    const uint64_t reached = std::min(keys, at + kHot);
    return static_cast<uint32_t>(rng_.Below(4) != 0 ? hot % keys : rng_.Below(reached));
  }

  Runtime& runtime_;
  Shared& shared_;
  Rng rng_;
  const bool is_slow_;
  std::optional<uint32_t>
      since_wait_;  // the first hot key before the transaction waited; none: it did not
  std::unique_ptr<TransactionImpl> transaction_;
  ListHistory history_;
};

// Holds read-only snapshots of different ages for a large part of the round. Reads through all of
// them until the users have ended. Each must show the same list of a key whenever it is asked.
class SnapshotHolder {
 public:
  SnapshotHolder(Runtime& runtime, Shared& shared)
      : runtime_(runtime),
        shared_(shared),
        rng_(shared.round.seed),
        held_(shared.round.held_snapshots) {}

  absl::Status Run() {
    while (!shared_.users_have_ended && !shared_.failed) {
      for (Held& held : held_) {
        if (absl::Status status = ReadSome(held); !status.ok()) {
          shared_.failed = true;
          return status;
        }
      }
      runtime_.SleepFor(20 * kNanosPerMicro);
    }
    for (Held& held : held_) LATCHKEY_RETURN_IF_ERROR(End(held));
    return absl::OkStatus();
  }
  ListHistory TakeHistory() { return std::move(history_); }

 private:
  struct Held {
    std::unique_ptr<TransactionImpl> transaction;  // nullptr = none is held now
    uint32_t until = 0;                            // number of started transactions at its end
    std::map<uint32_t, std::vector<Element>> first;
  };

  absl::Status ReadSome(Held& held) {
    constexpr int kReads = 8;
    if (held.transaction == nullptr) Begin(held);
    for (int i = 0; i < kReads; ++i) {
      const absl::Status status = Read(held, Key());
      if (absl::IsAborted(status)) return Forget(held);
      LATCHKEY_RETURN_IF_ERROR(status);
    }
    return shared_.started < held.until ? absl::OkStatus() : End(held);
  }

  // One of a few keys, so that it reads each of them often. They lie among all keys.
  uint32_t Key() {
    constexpr uint32_t kKeys = 200;
    const uint32_t distance = std::max<uint32_t>(shared_.round.keys / kKeys, 1);
    return distance * static_cast<uint32_t>(rng_.Below(shared_.round.keys / distance));
  }

  void Begin(Held& held) {
    held.transaction = shared_.db.Begin({.isolation = Isolation::kSnapshot, .read_only = true});
    const uint32_t share = shared_.round.transactions / 8;
    held.until = shared_.started + share + static_cast<uint32_t>(rng_.Below(4 * share + 1));
  }

  absl::Status Read(Held& held, uint32_t key) {
    std::string bytes;
    const absl::Status got = held.transaction->Get(shared_.tree, KeyOf(key), &bytes);
    if (absl::IsNotFound(got)) bytes.clear();
    if (!got.ok() && !absl::IsNotFound(got)) return got;
    const std::vector<Element> list = Decode(bytes);
    const auto [first, is_new] = held.first.try_emplace(key, list);
    if (is_new || first->second == list) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kInternal,
                      "a held snapshot has read {} elements of key {}, then {} elements",
                      first->second.size(), key, list.size());
  }

  absl::Status End(Held& held) {
    if (held.transaction == nullptr) return absl::OkStatus();
    ListTransaction txn;
    txn.committed = true;
    txn.read_ts = held.transaction->txn().snapshot().read_ts;
    for (auto& [key, list] : held.first) {
      txn.operations.push_back({.is_append = false, .key = key, .element = 0, .list = list});
    }
    LATCHKEY_RETURN_IF_ERROR(held.transaction->Commit());
    history_.push_back(std::move(txn));
    held = {};
    return absl::OkStatus();
  }

  // The snapshot has expired: undo filled the version store.
  static absl::Status Forget(Held& held) {
    held = {};
    return absl::OkStatus();
  }

  Runtime& runtime_;
  Shared& shared_;
  Rng rng_;
  std::vector<Held> held_;
  ListHistory history_;
};

absl::StatusOr<ListTransaction> ReadAll(Shared& shared) {
  ListTransaction txn;
  txn.committed = txn.serializable = true;
  const std::unique_ptr<TransactionImpl> transaction = shared.db.Begin({.read_only = true});
  for (uint32_t key = 0; key < shared.round.keys; ++key) {
    std::string bytes;
    const absl::Status got = transaction->Get(shared.tree, KeyOf(key), &bytes);
    if (!got.ok() && !absl::IsNotFound(got)) return got;
    txn.operations.push_back({.is_append = false,
                              .key = key,
                              .element = 0,
                              .list = got.ok() ? Decode(bytes) : std::vector<Element>()});
  }
  txn.read_ts = transaction->txn().snapshot().read_ts;
  return txn;
}

// Opens in memory, or on disks whose requests take time, so that others run during a read.
absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenFor(Runtime& runtime, const IsolationRound& round,
                                                      std::unique_ptr<CrashRecorder>* disks) {
  Options options;
  options.in_memory_device = true;
  options.durability = round.durability;
  options.cache_bytes = round.slow_disks ? uint64_t{2200} << 10 : uint64_t{4} << 20;
  options.page_size = round.page_size;
  options.version_store_bytes = round.version_store_bytes;
  options.techniques = round.techniques;
  if (!round.slow_disks) return DatabaseImpl::Open(runtime, "isolation", options);
  options.techniques.segment_size = 64 << 10;
  *disks = std::make_unique<CrashRecorder>(runtime,
                                           CrashRecorderOptions{.record = false,
                                                                .min_latency = kNanosPerMilli / 2,
                                                                .max_latency = 4 * kNanosPerMilli,
                                                                .sync_latency = 30 * kNanosPerMicro,
                                                                .seed = round.seed});
  DatabaseDevices devices;
  for (std::unique_ptr<BlockDevice>* device : {&devices.data, &devices.log, &devices.journal}) {
    *device = (*disks)->Open((*disks)->AddDisk("isolation"));
  }
  devices.sizing = {.log_segment_bytes = 64 << 10,
                    .log_initial_bytes = 256 << 10,
                    .journal_segment_bytes = 8 << 10,
                    .reserve_bytes = 1,
                    .assume_device_costs = true};
  return DatabaseImpl::OpenOverDevices(runtime, std::move(devices), options);
}

}  // namespace

absl::StatusOr<ListHistory> RunIsolationRound(Runtime& runtime, const IsolationRound& round) {
  std::unique_ptr<CrashRecorder> disks;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            OpenFor(runtime, round, &disks));
  LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, db->OpenTree("lists", /*create=*/true));
  Shared shared{.round = round, .db = *db, .tree = *tree};
  std::vector<std::unique_ptr<User>> users;
  std::vector<absl::Status> ends(round.actors);
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t a = 0; a < round.actors; ++a) {
    const bool is_slow = a == 0 && round.actors > 1 && round.held_snapshots != 0;
    users.push_back(std::make_unique<User>(runtime, shared, round.seed * 1000 + a, is_slow));
  }
  for (uint32_t a = 0; a < round.actors; ++a) {
    actors.push_back(runtime.Spawn("isolation", [&, a] { ends[a] = users[a]->Run(); }));
  }
  SnapshotHolder holder(runtime, shared);
  absl::Status held;
  std::unique_ptr<Actor> holding;
  if (round.held_snapshots != 0) {
    holding = runtime.Spawn("holder", [&] { held = holder.Run(); });
  }
  for (const auto& actor : actors) actor->Join();
  shared.users_have_ended = true;
  if (holding != nullptr) holding->Join();
  LATCHKEY_RETURN_IF_ERROR(held);
  ListHistory history = holder.TakeHistory();
  for (uint32_t a = 0; a < round.actors; ++a) {
    LATCHKEY_RETURN_IF_ERROR(ends[a]);
    ListHistory part = users[a]->TakeHistory();
    std::move(part.begin(), part.end(), std::back_inserter(history));
  }
  users.clear();
  LATCHKEY_ASSIGN_OR_RETURN(ListTransaction last, ReadAll(shared));
  history.push_back(std::move(last));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  LATCHKEY_RETURN_IF_ERROR(db->Close());
  return history;
}

}  // namespace latchkey
