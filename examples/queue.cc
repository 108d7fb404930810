// A work queue. Producers append jobs, workers take the oldest one. It survives crashes: a job is done exactly
// once, or a second time if a crash interrupted it.
//
//   ends     "head" -> number of the oldest job; "tail" -> number of the next job
//   waiting  number -> job
//   taken    number -> job on which a worker works
//
// The number of the oldest job is stored. A cursor that looked for it would walk over the jobs taken before, as long as
// an old snapshot needs them.
#include <iostream>

#include "example.h"

using latchkey::KeyReader;
using latchkey::KeyWriter;
using latchkey::Transaction;

struct Job {
  uint64_t number = 0;
  std::string text;
};

class Queue {
 public:
  static absl::StatusOr<Queue> Open(latchkey::Database* db) {
    Queue queue(db);
    if (absl::Status s = OpenTrees(
            db, {{"ends", &queue.ends_}, {"waiting", &queue.waiting_}, {"taken", &queue.taken_}});
        !s.ok())
      return s;
    if (absl::Status status = queue.ReturnInterruptedJobs(); !status.ok()) return status;
    return queue;
  }

  absl::Status Append(std::string_view text) {
    return db_->RunTransaction([&](Transaction& txn) { return AppendIn(txn, text); });
  }

  // NotFound: the queue is empty.
  absl::StatusOr<Job> Take() {
    Job job;
    absl::Status status = db_->RunTransaction([&](Transaction& txn) -> absl::Status {
      if (absl::Status s = LockEnd(txn, "head", &job.number); !s.ok()) return s;
      const std::string key = KeyWriter().UInt(job.number).key();
      if (absl::Status s = txn.Get(waiting_, key, &job.text); !s.ok()) return s;
      if (absl::Status s = txn.Delete(waiting_, key); !s.ok()) return s;
      if (absl::Status s = txn.Put(taken_, key, job.text); !s.ok()) return s;
      return txn.Put(ends_, "head", KeyWriter().UInt(job.number + 1).key());
    });
    if (!status.ok()) return status;
    return job;
  }

  absl::Status Finish(const Job& job) {
    return db_->Delete(taken_, KeyWriter().UInt(job.number).key());
  }

 private:
  explicit Queue(latchkey::Database* db) : db_(db) {}

  // Reads the number of an end of the queue, and keeps others from it until the transaction ends. This is the first
  // call of each transaction: the snapshot is taken after the lock, so two workers never get Aborted. They take turns.
  absl::Status LockEnd(Transaction& txn, std::string_view end, uint64_t* number) {
    std::string bytes;
    absl::Status status = txn.GetForUpdate(ends_, end, &bytes);
    if (absl::IsNotFound(status)) {
      *number = 0;
      return absl::OkStatus();
    }
    return status.ok() ? KeyReader(bytes).UInt(number) : status;
  }

  absl::Status AppendIn(Transaction& txn, std::string_view text) {
    uint64_t tail = 0;
    if (absl::Status s = LockEnd(txn, "tail", &tail); !s.ok()) return s;
    if (absl::Status s = txn.Put(waiting_, KeyWriter().UInt(tail).key(), text); !s.ok()) return s;
    return txn.Put(ends_, "tail", KeyWriter().UInt(tail + 1).key());
  }

  // One process at a time opens a database. So at the open no worker works, and a taken job was interrupted.
  absl::Status ReturnInterruptedJobs() {
    return db_->RunTransaction([&](Transaction& txn) -> absl::Status {
      latchkey::Cursor job = txn.NewCursor(taken_);
      for (job.SeekToFirst(); job.Valid(); job.Next()) {
        if (absl::Status s = AppendIn(txn, job.value()); !s.ok()) return s;
        if (absl::Status s = txn.Delete(taken_, job.key()); !s.ok()) return s;
      }
      return job.status();
    });
  }

  latchkey::Database* db_;
  latchkey::Tree ends_, waiting_, taken_;
};

constexpr int kProducers = 2, kJobsOfAProducer = 100;
constexpr size_t kWorkers = 2;

int main(int argc, char** argv) {
  const auto db = OpenDatabase(argc, argv, "queue.db");
  Queue queue = ValueOf(Queue::Open(db.get()));
  // Here producers and workers take turns. In a program of yours each may be a thread: any thread may call
  // the queue at any time.
  for (int i = 1; i <= kJobsOfAProducer; ++i) {
    for (int producer = 0; producer < kProducers; ++producer) {
      Check(queue.Append(std::to_string(i)));
    }
  }
  int done = 0, sum = 0;
  bool is_empty = false;
  while (!is_empty) {
    std::vector<Job> jobs;  // one of each worker
    while (!is_empty && jobs.size() < kWorkers) {
      absl::StatusOr<Job> job = queue.Take();
      is_empty = absl::IsNotFound(job.status());
      if (!is_empty) jobs.push_back(ValueOf(std::move(job)));
    }
    for (const Job& job : jobs) {
      sum += std::stoi(job.text);  // the work
      Check(queue.Finish(job));
      ++done;
    }
  }
  std::cout << done << " jobs done, their sum is " << sum << "\n";

  // A worker takes a job and does not finish it. The next open returns the job to the queue.
  Check(queue.Append("interrupted"));
  Check(queue.Take().status());
  queue = ValueOf(Queue::Open(db.get()));
  Job again = ValueOf(queue.Take());
  std::cout << "taken again: " << again.text << "\n";
  Check(queue.Finish(again));
  Check(db->Close());
}
