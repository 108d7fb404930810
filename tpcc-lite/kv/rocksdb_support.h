// An Env that counts RocksDB's file operations, and a logger that writes to the backend's sink.
#pragma once

#include <rocksdb/env.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/latchkey.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Counts of RocksDB's file operations. Relaxed: read for reports only.
struct RocksDbIo {
  std::atomic<uint64_t> reads{0}, writes{0}, bytes_read{0}, bytes_written{0};

  void CountRead(uint64_t bytes) {
    reads.fetch_add(1, std::memory_order_relaxed);
    bytes_read.fetch_add(bytes, std::memory_order_relaxed);
  }
  void CountWrite(uint64_t bytes) {
    writes.fetch_add(1, std::memory_order_relaxed);
    bytes_written.fetch_add(bytes, std::memory_order_relaxed);
  }
};

/// The default file system, which counts every read and write of a file in `io`; `io` outlives it.
/// RocksDB's own statistics cost several per cent of its throughput; this count costs nothing next
/// to the system call.
std::unique_ptr<ROCKSDB_NAMESPACE::Env> NewCountingEnv(RocksDbIo& io);

/// Forwards errors to the sink, and reads the one header line that names the CRC32 implementation.
class RocksDbLog final : public ROCKSDB_NAMESPACE::Logger {
 public:
  using Sink = std::function<void(LogSeverity, std::string_view)>;

  explicit RocksDbLog(Sink sink)
      : Logger(ROCKSDB_NAMESPACE::InfoLogLevel::ERROR_LEVEL), sink_(std::move(sink)) {}

  using Logger::Logv;
  void Logv(const char*, va_list) override {}
  void Logv(ROCKSDB_NAMESPACE::InfoLogLevel level, const char* format, va_list arguments) override;
  void LogHeader(const char* format, va_list arguments) override;
  /// RocksDB was built without the processor's CRC32 instruction.
  bool slow_crc32() const { return slow_crc32_; }

 private:
  void Forward(const std::string& line);

  const Sink sink_;
  std::atomic<bool> slow_crc32_{false};
  Mutex mutex_{ThreadRuntime()};
  bool forwarded_ = false;  // guarded by mutex_, as the next two
  Nanos last_forwarded_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace latchkey
