#include "tools/layout_lab/lab_users.h"

#include <cstring>
#include <string>
#include <utility>

#include "storage/base/rng.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr size_t kLatches = 1024;

}  // namespace

void FillLabPage(std::span<std::byte> page, uint64_t seed, double compressible) {
  std::memset(page.data(), static_cast<int>(seed % 256), page.size());
  Rng rng(seed);
  const auto random = static_cast<size_t>((1 - compressible) * static_cast<double>(page.size()));
  for (std::byte& byte : page.first(random)) byte = static_cast<std::byte>(rng.Below(256));
}

class LabUsers::User {
 public:
  User(LabUsers& all, uint32_t index) : all_(all), page_(all.store_.page_size()) {
    FillLabPage(page_.span(), index, all_.compressible_);
    actor_ = all.runtime_.Spawn("lab user " + std::to_string(index), [this] { Run(); });
  }
  void Join() { actor_->Join(); }
  const LatencyHistogram& reads() const { return reads_; }
  const LatencyHistogram& writes() const { return writes_; }

 private:
  void Run() {
    const absl::Status status = Loop();
    MutexLock lock(all_.mutex_);
    if (all_.error_.ok()) all_.error_ = status;
    all_.ended_.fetch_add(1, std::memory_order_relaxed);
    all_.progress_.NotifyAll(all_.mutex_);
  }

  absl::Status Loop() {
    LATCHKEY_ASSIGN_OR_RETURN(writer_, all_.store_.NewWriter(1));
    while (!all_.Over()) {
      const LabOperation operation = all_.Next();
      const Nanos start = all_.runtime_.Now();
      LATCHKEY_RETURN_IF_ERROR(operation.write ? Write(operation.page) : Read(operation.page));
      if (all_.measuring_.load(std::memory_order_relaxed)) {
        (operation.write ? writes_ : reads_).Record(all_.runtime_.Now() - start);
      }
      all_.NoteDone(operation.write);
    }
    const absl::Status written = writer_->Wait(0);
    writer_.reset();
    return written;
  }

  absl::Status Read(uint32_t page) {
    return all_.store_.ReadPage(all_.page_ids_[page], page_.data());
  }

  absl::Status Write(uint32_t page) {
    ++version_;
    std::memcpy(page_.data() + kPageHeaderSize, &version_, sizeof(version_));
    const PageWrite write{all_.page_ids_[page], page_.data()};
    {
      MutexLock lock(all_.LatchOf(page));
      size_t accepted = 0;
      LATCHKEY_RETURN_IF_ERROR(writer_->Submit({&write, 1}, &accepted));
    }
    return writer_->Wait(0);
  }

  LabUsers& all_;
  AlignedBuffer page_;
  uint64_t version_ = 0;
  std::unique_ptr<PageWriter> writer_;
  LatencyHistogram reads_, writes_;
  std::unique_ptr<Actor> actor_;
};

LabUsers::LabUsers(Runtime& runtime, SegmentStore& store, std::vector<PageId> page_ids,
                   std::unique_ptr<LabStream> stream, double compressible,
                   const std::atomic<bool>* stop)
    : runtime_(runtime),
      store_(store),
      page_ids_(std::move(page_ids)),
      compressible_(compressible),
      stop_(stop),
      mutex_(runtime),
      stream_(std::move(stream)) {
  for (size_t i = 0; i < kLatches; ++i) latches_.emplace_back(runtime);
}

// A run that did not call Stop failed by another error.
LabUsers::~LabUsers() { static_cast<void>(Stop()); }

void LabUsers::Start(uint32_t users) {
  for (uint32_t i = 0; i < users; ++i) users_.push_back(std::make_unique<User>(*this, i));
}

void LabUsers::AwaitWrites(uint64_t writes) {
  MutexLock lock(mutex_);
  awaited_ = writes;
  while (this->writes() < writes && !ended()) progress_.Wait(mutex_);
  awaited_ = UINT64_MAX;
}

absl::Status LabUsers::Stop() {
  over_.store(true, std::memory_order_relaxed);
  for (const std::unique_ptr<User>& user : users_) {
    user->Join();
    read_latency_.Merge(user->reads());
    write_latency_.Merge(user->writes());
  }
  users_.clear();
  MutexLock lock(mutex_);
  return error_;
}

LabOperation LabUsers::Next() {
  MutexLock lock(mutex_);
  return stream_->Next();
}

void LabUsers::NoteDone(bool write) {
  if (!write) {
    reads_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t writes = writes_.fetch_add(1, std::memory_order_relaxed) + 1;
  MutexLock lock(mutex_);
  if (writes >= awaited_) progress_.NotifyAll(mutex_);
}

bool LabUsers::Over() const {
  return over_.load(std::memory_order_relaxed) ||
         (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
}

}  // namespace latchkey
