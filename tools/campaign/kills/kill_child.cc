#include "tools/campaign/kills/kill_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/database_impl.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

// The work of one thread: its transactions in their order.
class Worker {
 public:
  Worker(Database& db, const KillTrees& trees, const KillLife& life, KillNotes& notes,
         uint32_t threads, uint32_t thread, KillThreadModel model)
      : db_(db),
        trees_(trees),
        life_(life),
        notes_(notes),
        threads_(threads),
        thread_(thread),
        model_(std::move(model)),
        rng_(life.life_seed * 100 + thread) {}

  absl::Status Run(const std::atomic<bool>& stop) {
    for (uint64_t i = 0; i < life_.transactions_per_thread && !stop.load(); ++i) {
      if (rng_.Below(80) == 0) LATCHKEY_RETURN_IF_ERROR(CheckpointAll());
      if (thread_ == 0 && rng_.Below(60) == 0) LATCHKEY_RETURN_IF_ERROR(MakeAndDropTree(db_));
      LATCHKEY_RETURN_IF_ERROR(Next());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Next() {
    const uint64_t sequence = model_.sequence() + 1;
    const KillTransaction transaction = MakeKillTransaction(life_.seed, thread_, sequence);
    if (!transaction.rolled_back.empty()) {
      LATCHKEY_RETURN_IF_ERROR(UntilDone([&] { return RollBack(transaction.rolled_back); }));
    }
    LATCHKEY_RETURN_IF_ERROR(UntilDone([&] {
      return transaction.is_batch ? Batch(transaction, sequence) : Commit(transaction, sequence);
    }));
    KillNotes::Thread& note = notes_.threads[thread_];
    note.acknowledged.store(sequence);
    if (life_.options.durability == Durability::kCommit) note.promised.store(sequence);
    model_.Apply(transaction);
    return absl::OkStatus();
  }

  template <typename Attempt>
  absl::Status UntilDone(const Attempt& attempt) {
    for (Backoff backoff(ThreadRuntime());; backoff.Pause()) {
      const absl::Status done = attempt();
      if (!absl::IsAborted(done)) return done;
    }
  }

  absl::Status WriteAll(Transaction& transaction, const std::vector<KillWrite>& writes) {
    for (const KillWrite& write : writes) {
      absl::Status done = write.value ? transaction.Put(trees_.rows, write.key, *write.value)
                                      : transaction.Delete(trees_.rows, write.key);
      if (!write.value && absl::IsNotFound(done)) done = absl::OkStatus();
      LATCHKEY_RETURN_IF_ERROR(done);
    }
    return absl::OkStatus();
  }

  absl::Status RollBack(const std::vector<KillWrite>& writes) {
    Transaction transaction = db_.Begin();
    LATCHKEY_RETURN_IF_ERROR(WriteAll(transaction, writes));
    return transaction.Rollback();
  }

  // A thread's own rows hold what its own transactions wrote.
  absl::Status ReadOne(Transaction& transaction, const std::string& key) {
    std::string value;
    const absl::Status got = transaction.Get(trees_.rows, key, &value);
    if (!got.ok() && !absl::IsNotFound(got)) return got;
    const auto expected = model_.rows().find(key);
    const bool there = expected != model_.rows().end();
    if (there == got.ok() && (!there || value == expected->second)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kInternal,
                      "thread {}: row \"{}\" is read as {}, but it is {} after transaction {}",
                      thread_, key, got.ok() ? "there" : "missing",
                      there ? "another one" : "not there", model_.sequence());
  }

  absl::Status Commit(const KillTransaction& work, uint64_t sequence) {
    Transaction transaction = db_.Begin();
    if (work.takes_ticket) {
      LATCHKEY_RETURN_IF_ERROR(TakeTicket(transaction, trees_.notes, thread_, sequence));
    }
    LATCHKEY_RETURN_IF_ERROR(ReadOne(transaction, work.writes.front().key));
    if (!work.in_vain.empty()) {
      LATCHKEY_ASSIGN_OR_RETURN(const Savepoint savepoint, transaction.SetSavepoint());
      LATCHKEY_RETURN_IF_ERROR(WriteAll(transaction, work.in_vain));
      LATCHKEY_RETURN_IF_ERROR(transaction.RollbackTo(savepoint));
    }
    LATCHKEY_RETURN_IF_ERROR(WriteAll(transaction, work.writes));
    LATCHKEY_RETURN_IF_ERROR(
        transaction.Put(trees_.notes, KillHeadKey(thread_), std::to_string(sequence)));
    notes_.threads[thread_].submitted.store(sequence);
    return transaction.Commit();
  }

  absl::Status Batch(const KillTransaction& work, uint64_t sequence) {
    WriteBatch batch;
    for (const KillWrite& write : work.writes) {
      write.value ? batch.Put(trees_.rows, write.key, *write.value)
                  : batch.Delete(trees_.rows, write.key);
    }
    batch.Put(trees_.notes, KillHeadKey(thread_), std::to_string(sequence));
    notes_.threads[thread_].submitted.store(sequence);
    return db_.Write(batch);
  }

  // Transactions acknowledged before a checkpoint begins are durable after it.
  absl::Status CheckpointAll() {
    std::vector<uint64_t> acknowledged(threads_);
    for (uint32_t t = 0; t < threads_; ++t) acknowledged[t] = notes_.threads[t].acknowledged.load();
    LATCHKEY_RETURN_IF_ERROR(db_.Checkpoint());
    for (uint32_t t = 0; t < threads_; ++t) {
      std::atomic<uint64_t>& promised = notes_.threads[t].promised;
      uint64_t before = promised.load();
      while (before < acknowledged[t] && !promised.compare_exchange_weak(before, acknowledged[t])) {
      }
    }
    return absl::OkStatus();
  }

  Database& db_;
  const KillTrees& trees_;
  const KillLife& life_;
  KillNotes& notes_;
  const uint32_t threads_, thread_;
  KillThreadModel model_;
  Rng rng_;
};

class Life {
 public:
  Life(const KillLife& life, KillNotes& notes, std::vector<KillThreadModel> models)
      : life_(life), notes_(notes), models_(std::move(models)) {}

  absl::Status Run() {
    if (life_.kill_in_open) ArmKillPoint(*life_.kill_in_open);
    LATCHKEY_RETURN_IF_ERROR(OpenAndCompare(life_.must_exist));
    for (uint32_t t = 0; t < models_.size(); ++t)
      NoteFound(notes_.threads[t], models_[t].sequence());
    notes_.stage.store(KillStage::kVerified);
    return life_.closes ? CloseAndCompare() : Work();
  }

 private:
  absl::Status OpenAndCompare(bool must_exist) {
    Options options = life_.options;
    options.create_if_missing = !must_exist;
    LATCHKEY_ASSIGN_OR_RETURN(
        std::unique_ptr<DatabaseImpl> opened,
        DatabaseImpl::Open(ThreadRuntime(), life_.path, options, life_.sizing));
    db_ = DatabaseImpl::AsDatabase(std::move(opened));
    LATCHKEY_ASSIGN_OR_RETURN(trees_, OpenKillTrees(*db_));
    std::vector<KillBounds> bounds;
    for (uint32_t t = 0; t < models_.size(); ++t) {
      bounds.push_back({notes_.threads[t].promised.load(), notes_.threads[t].submitted.load()});
    }
    return CheckKillStore(*db_, trees_, life_.seed, bounds, models_);
  }

  // Recovered transactions were read from the files, so no kill can undo them.
  static void NoteFound(KillNotes::Thread& note, uint64_t sequence) {
    note.found.store(sequence);
    note.acknowledged.store(sequence);
    note.promised.store(sequence);
  }

  absl::Status CloseAndCompare() {
    LATCHKEY_RETURN_IF_ERROR(db_->Close());
    db_.reset();
    LATCHKEY_RETURN_IF_ERROR(OpenAndCompare(/*must_exist=*/true));
    return db_->Close();
  }

  absl::Status Work() {
    if (life_.kill_in_work) ArmKillPoint(*life_.kill_in_work);
    Runtime& runtime = ThreadRuntime();
    const auto threads = static_cast<uint32_t>(models_.size());
    std::vector<absl::Status> ends(threads + 1);  // the last: of `beside`
    std::atomic<bool> stop{false};
    std::vector<std::unique_ptr<Actor>> actors;
    for (uint32_t t = 0; t < threads; ++t) {
      actors.push_back(runtime.Spawn("kill", [&, t] {
        Worker worker(*db_, trees_, life_, notes_, threads, t, models_[t]);
        ends[t] = worker.Run(stop);
        if (ends[t].ok()) return;
        notes_.Fail(ends[t]);
        stop.store(true);
      }));
    }
    if (life_.beside) {
      actors.push_back(runtime.Spawn("beside", [&] {
        ends.back() = life_.beside(*db_);
        if (ends.back().ok()) return;
        notes_.Fail(ends.back());
        stop.store(true);
      }));
    }
    for (const auto& actor : actors) actor->Join();
    for (const absl::Status& end : ends) LATCHKEY_RETURN_IF_ERROR(end);
    notes_.stage.store(KillStage::kFinished);
    for (;;) runtime.SleepFor(kNanosPerSecond);  // the store stays open until the process is killed
  }

  const KillLife& life_;
  KillNotes& notes_;
  std::vector<KillThreadModel> models_;
  std::unique_ptr<Database> db_;
  KillTrees trees_;
};

}  // namespace

void KillNotes::Fail(const absl::Status& status) {
  if (has_message.exchange(true)) return;
  const std::string text = status.ToString();
  std::memcpy(message, text.data(), std::min(text.size(), kMessageBytes - 1));
  stage.store(KillStage::kFailed);
}

int RunKillLife(const KillLife& life, KillNotes& notes, std::vector<KillThreadModel> models) {
  Life child(life, notes, std::move(models));
  const absl::Status end = child.Run();
  if (end.ok()) return 0;
  notes.Fail(end);
  return 1;
}

}  // namespace latchkey
