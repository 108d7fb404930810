// A work queue. Producers append jobs, workers take the oldest one. It survives crashes: a job is done exactly
// once, or a second time if a crash interrupted it.
//
//   ends     "head" -> number of the oldest job; "tail" -> number of the next job
//   waiting  number -> job
//   taken    number -> job on which a worker works
//
// The number of the oldest job is stored. A cursor that looked for it would walk over the jobs taken before, as long as
// an old snapshot needs them.
#include <latchkey/latchkey.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

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
    for (auto [name, tree] : {std::pair{"ends", &queue.ends_},
                              {"waiting", &queue.waiting_},
                              {"taken", &queue.taken_}}) {
      absl::StatusOr<latchkey::Tree> opened = db->OpenTree(name);
      if (!opened.ok()) return opened.status();
      *tree = *opened;
    }
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

constexpr int kProducers = 2, kWorkers = 2, kJobsOfAProducer = 100;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

int main(int argc, char** argv) {
  absl::StatusOr<std::unique_ptr<latchkey::Database>> db =
      latchkey::Database::Open(argc > 1 ? argv[1] : "queue.db", {});
  Check(db.status());
  absl::StatusOr<Queue> queue = Queue::Open(db->get());
  Check(queue.status());

  std::atomic<int> done = 0, sum = 0;
  std::vector<std::thread> threads;
  for (int producer = 0; producer < kProducers; ++producer) {
    threads.emplace_back([&] {
      for (int i = 1; i <= kJobsOfAProducer; ++i) Check(queue->Append(std::to_string(i)));
    });
  }
  for (int worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&] {
      while (done < kProducers * kJobsOfAProducer) {
        absl::StatusOr<Job> job = queue->Take();
        if (absl::IsNotFound(job.status())) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        Check(job.status());
        sum += std::stoi(job->text);  // the work
        Check(queue->Finish(*job));
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << done << " jobs done, their sum is " << sum << "\n";

  // A worker takes a job and does not finish it. The next open returns the job to the queue.
  Check(queue->Append("interrupted"));
  Check(queue->Take().status());
  queue = Queue::Open(db->get());
  Check(queue.status());
  absl::StatusOr<Job> again = queue->Take();
  Check(again.status());
  std::cout << "taken again: " << again->text << "\n";
  Check(queue->Finish(*again));
  Check((*db)->Close());
}
