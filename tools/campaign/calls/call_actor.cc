#include "tools/campaign/calls/call_actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/btree/node_format.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

constexpr uint64_t kKeys = 6;

}  // namespace

struct CallActor::Session {
  Transaction txn;
  CallChanges changes;  // in this caller's tree
  std::vector<std::pair<Savepoint, CallChanges>> savepoints;
  std::optional<ValueWriter> writer;  // of a value that was left unfinished
  bool read_only = false;
  bool over = false;
};

CallActor::CallActor(Runtime& runtime, Database& db, Tree shared, uint64_t seed, uint32_t number,
                     const CallLifePlan& plan)
    : runtime_(runtime),
      db_(db),
      shared_(shared),
      own_name_("own-" + std::to_string(number)),
      rng_(MixHash(seed * 1000 + number)),
      plan_(plan) {}

void CallActor::Run() {
  OpenOwn();
  for (uint32_t i = 0; i < plan_.calls && counts_.mistakes.empty(); ++i) OneCall();
}

void CallActor::OneCall() {
  if (plan_.is_hot && rng_.Below(8) != 0) return CallOutside();
  const uint64_t kind = rng_.Below(100);
  if (kind < 55) return CallOutside();
  if (kind < 85) return RunTransaction();
  if (kind < 91) return WriteBatchOutside();
  if (kind < 94) return CallWithTrees();
  if (kind < 97) return CallWithOddArguments();
  CallOnDatabase();
}

// ---- Drawing sizes and values

std::string CallActor::DrawKey() {
  const uint64_t key = rng_.Below(kKeys);
  if (plan_.is_hot) return std::string(1, static_cast<char>('a' + key));
  constexpr size_t kLong = Database::kMaxKeySize;
  switch (key) {
    case 0:
      return "";
    case 1:
      return std::string(kLong, 'k');
    case 2:
      return std::string(kLong - 1, 'k');
    default:
      return std::string(1, static_cast<char>('a' + key));
  }
}

std::string CallActor::DrawValue() {
  const size_t inline_size = MaxInlineValue(plan_.options.page_size, 1);
  const size_t page = plan_.options.page_size;
  uint64_t size = 0;
  switch (rng_.Below(plan_.is_hot ? 200 : 10)) {
    case 0:
      size = rng_.Below(2);
      break;
    case 1:
      size = inline_size - 1 + rng_.Below(3);
      break;
    case 2:
      size = page - 1 + rng_.Below(3);
      break;
    case 3:
      size = rng_.Below(4) == 0 ? rng_.Below(uint64_t{3} << 20) : rng_.Below(8 * page);
      break;
    default:
      size = rng_.Below(inline_size + 1);
  }
  const uint64_t pattern = rng_.Next();
  std::string value(size, '\0');
  for (size_t i = 0; i < size; ++i) value[i] = static_cast<char>(pattern >> (i % 8 * 8));
  return value;
}

// ---- Noting results

bool CallActor::Note(const char* call, const absl::Status& status) {
  counts_.Note(call, status);
  return status.ok();
}

void CallActor::Wrong(const std::string& what) {
  counts_.mistakes.push_back(own_name_ + ": " + what);
}

void CallActor::CompareOwn(const char* call, const std::string& key, const absl::Status& status,
                           const std::string& value, const CallChanges* changes) {
  if (!status.ok() && !absl::IsNotFound(status)) return;
  const KeyState found = status.ok() ? MarkOf(value) : KeyState();
  ++counts_.compared;
  bool right = oracle_.Allows(key, found);
  if (changes != nullptr) {
    if (const auto it = changes->find(key); it != changes->end()) right = it->second == found;
  }
  if (right) return;
  Wrong(fmt::format("{} of the own key of {} bytes \"{}\" found {}, not {}", call, key.size(),
                    key.substr(0, 4), found ? fmt::format("{} bytes", found->size) : "nothing",
                    oracle_.Describe(key)));
}

void CallActor::Settle(const absl::Status& status, const CallChanges& changes) {
  if (status.ok()) {
    oracle_.Commit(changes);
  } else if (absl::IsUnavailable(status)) {
    oracle_.CommitPerhaps(changes);
  }
}

// ---- Calls

void CallActor::CallOutside() {
  const bool own = DrawOwn();
  const std::string key = DrawKey();
  switch (rng_.Below(4)) {
    case 0: {
      std::string value;
      const absl::Status found = db_.Get(TreeFor(own), key, &value);
      Note("Get", found);
      if (own) CompareOwn("Get", key, found, value, nullptr);
      return;
    }
    case 1: {
      const absl::Status done = db_.Delete(TreeFor(own), key);
      Note("Delete", done);
      if (own && absl::IsNotFound(done)) CompareOwn("Delete", key, done, "", nullptr);
      if (own) Settle(done, {{key, std::nullopt}});
      return;
    }
    default: {
      const std::string value = DrawValue();
      const absl::Status done = db_.Put(TreeFor(own), key, value);
      Note("Put", done);
      if (own) Settle(done, {{key, MarkOf(value)}});
    }
  }
}

void CallActor::WriteBatchOutside() {
  WriteBatch batch;
  CallChanges changes;
  for (uint64_t i = rng_.Below(8); i > 0; --i) {
    const bool own = DrawOwn();
    const std::string key = DrawKey();
    if (rng_.Below(4) == 0) {
      batch.Delete(TreeFor(own), key);
      if (own) changes[key] = std::nullopt;
    } else {
      const std::string value = DrawValue();
      batch.Put(TreeFor(own), key, value);
      if (own) changes[key] = MarkOf(value);
    }
  }
  const absl::Status done = db_.Write(batch);
  Note("Write", done);
  Settle(done, changes);
}

bool CallActor::OpenOwn() {
  const absl::StatusOr<Tree> tree = db_.OpenTree(own_name_);
  Note("OpenTree", tree.status());
  own_ = tree.ok() ? *tree : Tree();
  return tree.ok();
}

void CallActor::CallWithTrees() {
  if (!own_.valid() || rng_.Below(3) == 0) {
    OpenOwn();
    return;
  }
  const absl::Status dropped = db_.DropTree(own_name_);
  Note("DropTree", dropped);
  if (dropped.ok()) {
    oracle_.Clear(/*perhaps=*/false);
  } else if (!absl::IsNotFound(dropped)) {
    oracle_.Clear(/*perhaps=*/true);
  }
  own_ = Tree();
  if (rng_.Below(4) != 0) OpenOwn();
}

void CallActor::CallOnDatabase() {
  switch (rng_.Below(4)) {
    case 0:
      Note("Checkpoint", db_.Checkpoint());
      return;
    case 1: {
      const uint64_t bytes = plan_.options.cache_bytes * (1 + rng_.Below(8)) / 4;
      Note("SetCacheBytes", db_.SetCacheBytes(bytes));
      return;
    }
    case 2:
      db_.GetStatistics();
      return;
    default:
      db_.ListTrees();
  }
}

void CallActor::CallWithOddArguments() {
  const std::string too_long(Database::kMaxKeySize + 1 + rng_.Below(100'000), 'k');
  std::string value;
  absl::Status refused;
  switch (rng_.Below(6)) {
    case 0:
      refused = db_.Put(shared_, too_long, "v");
      break;
    case 1:
      refused = db_.Get(shared_, too_long, &value);
      break;
    case 2:
      refused = db_.Delete(Tree(), "key");
      break;
    case 3:
      refused = db_.OpenTree("").status();
      break;
    case 4:
      refused = db_.OpenTree(std::string(Database::kMaxTreeNameSize + 1, 't')).status();
      break;
    default:
      refused = db_.SetCacheBytes(rng_.Below(2) == 0 ? 0 : rng_.Below(256 << 10));
  }
  Note("a call with odd arguments", refused);
  if (!absl::IsInvalidArgument(refused)) {
    Wrong("odd arguments were answered " + refused.ToString());
  }
}

// ---- Transactions

void CallActor::RunTransaction() {
  std::vector<Session> sessions;
  // Sometimes two at once: one of them may wait for a lock of the other.
  const size_t count = rng_.Below(4) == 0 ? 2 : 1;
  sessions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    BeginOptions options;
    options.read_only = rng_.Below(6) == 0;
    if (rng_.Below(2) == 0) {
      options.isolation = rng_.Below(2) == 0 ? Isolation::kSnapshot : Isolation::kSerializable;
    }
    sessions.push_back({db_.Begin(options), {}, {}, {}, options.read_only, false});
  }
  for (uint64_t steps = rng_.Below(12); steps > 0; --steps) {
    Session& session = sessions[rng_.Below(count)];
    // Sometimes calls a transaction once more after its end.
    if (!session.over || rng_.Below(4) == 0) StepOf(session);
    if (rng_.Below(8) == 0) runtime_.SleepFor(rng_.Below(3 * kNanosPerMilli));
  }
  for (Session& session : sessions) End(session);
}

void CallActor::StepOf(Session& session) {
  const uint64_t kind = rng_.Below(10);
  if (kind < 5) return WriteIn(session);
  if (kind == 5) return WalkIn(session);
  if (kind == 6) return SavepointIn(session);
  const bool own = DrawOwn();
  const std::string key = DrawKey();
  if (kind == 7) {
    const std::string_view keys[] = {key, "c", "d"};
    session.txn.Prefetch(TreeFor(own), keys);
    if (rng_.Below(2) == 0) PartIn(session, TreeFor(own), key);
    return;
  }
  std::string value;
  const absl::Status found = kind == 8 ? session.txn.GetForUpdate(TreeFor(own), key, &value)
                                       : session.txn.Get(TreeFor(own), key, &value);
  Note("Get in a transaction", found);
  session.over = absl::IsAborted(found) || absl::IsFailedPrecondition(found);
  // Another session of this caller may have changed the key after this snapshot was taken.
  if (own && session.changes.contains(key)) {
    CompareOwn("Get in a transaction", key, found, value, &session.changes);
  }
}

void CallActor::WriteIn(Session& session) {
  const bool own = DrawOwn();
  const std::string key = DrawKey();
  const std::string value = DrawValue();
  const uint64_t kind = rng_.Below(5);
  absl::Status done;
  if (kind == 4) {
    const std::optional<absl::Status> finished = PutInParts(session, TreeFor(own), key, value);
    if (!finished.has_value()) return;
    done = *finished;
  } else if (kind == 0) {
    done = session.txn.Delete(TreeFor(own), key);
  } else if (kind == 1) {
    done = session.txn.Insert(TreeFor(own), key, value);
  } else {
    done = session.txn.Put(TreeFor(own), key, value);
  }
  Note("a write in a transaction", done);
  session.over = absl::IsAborted(done) || (absl::IsFailedPrecondition(done) && !session.read_only);
  if (done.ok() && own) session.changes[key] = kind == 0 ? KeyState() : MarkOf(value);
  // A failed call has changed nothing, but it does not say whether the transaction is still open.
}

// In parts of odd sizes. nullopt: the value is left unfinished until the end of the transaction.
std::optional<absl::Status> CallActor::PutInParts(Session& session, Tree tree,
                                                  const std::string& key, std::string_view value) {
  session.writer.emplace(session.txn.PutInParts(tree, key));
  absl::Status done = session.writer->status();
  while (done.ok() && !value.empty()) {
    const std::string_view part = value.substr(0, rng_.Below(2 * plan_.options.page_size));
    done = session.writer->Append(part);
    value.remove_prefix(part.size());
  }
  if (done.ok() && rng_.Below(4) == 0) return std::nullopt;
  if (done.ok()) done = session.writer->Finish();
  session.writer.reset();
  return done;
}

void CallActor::PartIn(Session& session, Tree tree, const std::string& key) {
  std::string value, part;
  const absl::Status found = session.txn.Get(tree, key, &value);
  const uint64_t offset = rng_.Below(value.size() + 2), size = rng_.Below(value.size() + 2);
  uint64_t whole = 0;
  const absl::Status read = session.txn.GetPart(tree, key, offset, size, &part, &whole);
  Note("GetPart", read);
  if (!found.ok() || !read.ok()) return;
  if (whole != value.size() || part != (offset < value.size() ? value.substr(offset, size) : "")) {
    Wrong(fmt::format("{} bytes from byte {} of a value of {} bytes are others than in the value",
                      size, offset, value.size()));
  }
}

void CallActor::WalkIn(Session& session) {
  const bool own = DrawOwn();
  KeyRange range;
  if (rng_.Below(2) == 0) range.from = DrawKey();
  if (rng_.Below(2) == 0) range.to = DrawKey();
  Cursor cursor = session.txn.NewCursor(TreeFor(own), range);
  std::string last;
  switch (rng_.Below(4)) {
    case 0:
      cursor.SeekToLast();
      break;
    case 1:
      cursor.Seek(DrawKey());
      break;
    case 2:
      cursor.SeekForPrev(DrawKey());
      break;
    default:
      cursor.SeekToFirst();
  }
  for (uint64_t moves = rng_.Below(10); moves > 0 && cursor.Valid(); --moves) {
    last = cursor.key();
    if ((range.from && last < *range.from) || (range.to && last >= *range.to)) {
      return Wrong("a cursor has left its range");
    }
    cursor.Next();
    if (cursor.Valid() && cursor.key() <= last) return Wrong("a cursor does not ascend");
    if (cursor.Valid() && rng_.Below(4) == 0) cursor.Prev();
  }
  Note("a walk", cursor.status());
  session.over = absl::IsAborted(cursor.status()) || absl::IsFailedPrecondition(cursor.status());
}

void CallActor::SavepointIn(Session& session) {
  if (session.savepoints.empty() || rng_.Below(2) == 0) {
    absl::StatusOr<Savepoint> savepoint = session.txn.SetSavepoint();
    if (Note("SetSavepoint", savepoint.status())) {
      session.savepoints.emplace_back(*savepoint, session.changes);
    }
    return;
  }
  const size_t to = rng_.Below(session.savepoints.size());
  const absl::Status done = session.txn.RollbackTo(session.savepoints[to].first);
  if (!Note("RollbackTo", done)) {
    session.over = true;
    return;
  }
  session.changes = session.savepoints[to].second;
  session.savepoints.resize(to + 1);
}

void CallActor::End(Session& session) {
  if (rng_.Below(8) == 0) {
    session.writer.reset();  // else the commit would be refused
    EndBelowCursor(session);
    return;
  }
  const uint64_t how = rng_.Below(4);
  if (how == 0) return;  // the destructor rolls it back
  if (session.writer.has_value() && how == 3) {
    const absl::Status refused = session.txn.Commit();
    Note("Commit below an unfinished value", refused);
    if (refused.ok()) {
      // It was over: an error or a rollback had ended it.
      if (session.writer->Append("x").ok()) Wrong("an unfinished value was committed");
      return Settle(refused, session.changes);
    }
  }
  if (how != 1) session.writer.reset();
  if (how == 1) {
    Note("Rollback", session.txn.Rollback());
    return;
  }
  const absl::Status done = session.txn.Commit();
  Note("Commit", done);
  Settle(done, session.changes);
}

// A cursor and a savepoint must be refused after the end of their transaction.
void CallActor::EndBelowCursor(Session& session) {
  Cursor cursor = session.txn.NewCursor(shared_);
  cursor.SeekToFirst();
  const absl::StatusOr<Savepoint> savepoint = session.txn.SetSavepoint();
  const bool commits = rng_.Below(2) == 0;
  const absl::Status done = commits ? session.txn.Commit() : session.txn.Rollback();
  Note("the end below a cursor", done);
  if (commits) Settle(done, session.changes);
  if (cursor.Valid()) cursor.Next();
  cursor.Seek("c");
  if (cursor.Valid()) Wrong("a cursor of a transaction that is over is valid");
  Note("a cursor of a transaction that is over", cursor.status());
  Transaction other = db_.Begin();
  if (savepoint.ok()) {
    const absl::Status foreign = other.RollbackTo(*savepoint);
    Note("RollbackTo of another transaction", foreign);
    if (foreign.ok()) Wrong("a savepoint of another transaction was rolled back to");
  }
}

// ---- After the life

void CallActor::CompareWith(Database& db, CallCounts* counts) const {
  const absl::StatusOr<Tree> tree = db.OpenTree(own_name_, /*create=*/false);
  const auto wrong = [&](const std::string& what) {
    counts->mistakes.push_back(own_name_ + " after the reopen: " + what);
  };
  if (!tree.ok() && !absl::IsNotFound(tree.status())) return wrong(tree.status().ToString());
  for (const std::string& key : oracle_.Keys()) {
    std::string value;
    const absl::Status found = tree.ok() ? db.Get(*tree, key, &value) : tree.status();
    if (!found.ok() && !absl::IsNotFound(found)) return wrong(found.ToString());
    ++counts->compared;
    const KeyState state = found.ok() ? MarkOf(value) : KeyState();
    if (oracle_.Allows(key, state)) continue;
    wrong(fmt::format("the key of {} bytes \"{}\" has {}, not {}", key.size(), key.substr(0, 4),
                      state ? fmt::format("{} bytes ({:x})", state->size, state->hash) : "no value",
                      oracle_.Describe(key)));
  }
}

}  // namespace latchkey
