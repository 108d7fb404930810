#include "tpcc-lite/kv/rocksdb_support.h"

#include <fmt/format.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdio>
#include <utility>

/// RocksDB looks up this symbol: a build with io_uring uses it for MultiGet if it returns true.
extern "C" bool RocksDbIOUringEnable();
extern "C" bool RocksDbIOUringEnable() { return true; }

namespace latchkey {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

class CountingReadFile final : public rdb::FSRandomAccessFileOwnerWrapper {
 public:
  CountingReadFile(std::unique_ptr<rdb::FSRandomAccessFile>&& file, RocksDbIo& io)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), io_(io) {}

  rdb::IOStatus Read(uint64_t offset, size_t n, const rdb::IOOptions& options, rdb::Slice* result,
                     char* scratch, rdb::IODebugContext* dbg) const override {
    io_.CountRead(n);
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
  }
  rdb::IOStatus MultiRead(rdb::FSReadRequest* requests, size_t count, const rdb::IOOptions& options,
                          rdb::IODebugContext* dbg) override {
    for (size_t i = 0; i < count; ++i) io_.CountRead(requests[i].len);
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, dbg);
  }

 private:
  RocksDbIo& io_;
};

class CountingWriteFile final : public rdb::FSWritableFileOwnerWrapper {
 public:
  CountingWriteFile(std::unique_ptr<rdb::FSWritableFile>&& file, RocksDbIo& io)
      : FSWritableFileOwnerWrapper(std::move(file)), io_(io) {}

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* dbg) override {
    io_.CountWrite(data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, dbg);
  }
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo& verification,
                       rdb::IODebugContext* dbg) override {
    io_.CountWrite(data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, verification, dbg);
  }
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, uint64_t offset,
                                 const rdb::IOOptions& options, rdb::IODebugContext* dbg) override {
    io_.CountWrite(data.size());
    return FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, dbg);
  }
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, uint64_t offset,
                                 const rdb::IOOptions& options,
                                 const rdb::DataVerificationInfo& verification,
                                 rdb::IODebugContext* dbg) override {
    io_.CountWrite(data.size());
    return FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, verification, dbg);
  }

 private:
  RocksDbIo& io_;
};

class CountingFileSystem final : public rdb::FileSystemWrapper {
 public:
  explicit CountingFileSystem(RocksDbIo& io)
      : FileSystemWrapper(rdb::FileSystem::Default()), io_(io) {}
  const char* Name() const override { return "LatchkeyCountingFileSystem"; }

  rdb::IOStatus NewRandomAccessFile(const std::string& name, const rdb::FileOptions& options,
                                    std::unique_ptr<rdb::FSRandomAccessFile>* result,
                                    rdb::IODebugContext* dbg) override {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    rdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(name, options, &file, dbg);
    if (status.ok()) *result = std::make_unique<CountingReadFile>(std::move(file), io_);
    return status;
  }
  rdb::IOStatus NewWritableFile(const std::string& name, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* result,
                                rdb::IODebugContext* dbg) override {
    std::unique_ptr<rdb::FSWritableFile> file;
    rdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, &file, dbg);
    if (status.ok()) *result = std::make_unique<CountingWriteFile>(std::move(file), io_);
    return status;
  }

 private:
  RocksDbIo& io_;
};

std::string Format(const char* format, va_list arguments) {
  char buffer[1024];
  const int size = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  return {buffer, static_cast<size_t>(std::clamp<int>(size, 0, sizeof buffer - 1))};
}

}  // namespace

std::unique_ptr<rdb::Env> NewCountingEnv(RocksDbIo& io) {
  return rdb::NewCompositeEnv(std::make_shared<CountingFileSystem>(io));
}

// Messages during the creation of a database are no warnings: RocksDB looks for missing files.
void RocksDbLog::Logv(rdb::InfoLogLevel level, const char* format, va_list arguments) {
  if (level < GetInfoLogLevel()) return;
  const std::string line = Format(format, arguments);
  if (line.find("NotFound") != std::string::npos) return;
  Forward(line);
}

void RocksDbLog::LogHeader(const char* format, va_list arguments) {
  const std::string line = Format(format, arguments);
  if (line.find("Fast CRC32 supported: Not supported") != std::string::npos) slow_crc32_ = true;
}

// A stalled database logs many times a second. This writes one line in ten seconds, with the number
// of suppressed ones.
void RocksDbLog::Forward(const std::string& line) {
  constexpr Nanos kBetweenLines = 10 * kNanosPerSecond;
  uint64_t left_out = 0;
  {
    MutexLock lock(mutex_);
    const Nanos now = ThreadRuntime().Now();
    if (forwarded_ && now - last_forwarded_ < kBetweenLines) {
      ++left_out_;
      return;
    }
    forwarded_ = true;
    last_forwarded_ = now;
    left_out = std::exchange(left_out_, 0);
  }
  if (!sink_) return;
  const std::string more =
      left_out > 0 ? fmt::format(" ({} lines left out before)", left_out) : std::string();
  sink_(LogSeverity::kError, "rocksdb: " + line + more);
}

}  // namespace latchkey
