// What the page store asks of the engine: the pool's clean copies, and how far the log is durable.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <optional>

#include "bufferpool/buffer_pool.h"
#include "engine/log/engine_log.h"
#include "storage/page_store_client.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Thread-safe. The log comes after the pool, because recovery runs without it.
class StoreClient final : public PageStoreClient {
 public:
  explicit StoreClient(BufferPool& pool) : pool_(pool) {}

  /// From now on there is a log. Once.
  void SetLog(const Log& log, EngineLog& engine_log) {
    engine_log_.store(&engine_log, std::memory_order_release);
    log_.store(&log, std::memory_order_release);
  }

  /// Once the log has failed, no checkpoint may be completed, not even one that is under way.
  absl::Status MayPublishCheckpoint() override {
    EngineLog* log = engine_log_.load(std::memory_order_acquire);
    return log == nullptr ? absl::OkStatus() : log->FailUnlessWritable();
  }
  std::optional<Lsn> DurableLog() override {
    const Log* log = log_.load(std::memory_order_acquire);
    return log == nullptr ? std::nullopt : std::optional<Lsn>(log->durable());
  }
  bool CopyIfClean(PageId page, std::byte* out) override { return pool_.CopyIfClean(page, out); }

 private:
  BufferPool& pool_;
  std::atomic<EngineLog*> engine_log_{nullptr};
  std::atomic<const Log*> log_{nullptr};
};

}  // namespace latchkey
