// Small logs for tests: short ways to create, open, append and read back.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/device/testing/crash_device.h"
#include "storage/wal/log.h"

namespace latchkey {

/// 3 segments of 8 KiB and the smallest buffer, so that the log wraps soon.
inline LogOptions TinyLog() {
  return {.database_id = 0x1234,
          .segment_bytes = 8u << 10,
          .initial_bytes = 32u << 10,
          .max_bytes = 1u << 20,
          .buffer_bytes = 64u << 10};
}

inline std::unique_ptr<Log> MustCreate(std::shared_ptr<CrashMedium> medium,
                                       const LogOptions& options = TinyLog(), uint32_t block = 512,
                                       Runtime& runtime = ThreadRuntime()) {
  auto log = CreateLog(runtime, std::make_unique<CrashDevice>(std::move(medium), block), options);
  INFO(log.status());
  REQUIRE(log.ok());
  return *std::move(log);
}

/// A newly created log, ready for records.
inline std::unique_ptr<Log> MustStart(std::shared_ptr<CrashMedium> medium,
                                      const LogOptions& options = TinyLog(), uint32_t block = 512,
                                      Runtime& runtime = ThreadRuntime()) {
  auto log = MustCreate(std::move(medium), options, block, runtime);
  REQUIRE(log->StartWriting().ok());
  return log;
}

inline absl::StatusOr<std::unique_ptr<Log>> Open(std::shared_ptr<CrashMedium> medium,
                                                 const LogOptions& options = TinyLog()) {
  return OpenLog(ThreadRuntime(), std::make_unique<CrashDevice>(std::move(medium)), options);
}

inline std::unique_ptr<Log> MustOpen(std::shared_ptr<CrashMedium> medium, Lsn from = Lsn{0},
                                     const LogOptions& options = TinyLog()) {
  auto log = Open(std::move(medium), options);
  INFO(log.status());
  REQUIRE(log.ok());
  const absl::Status found = (*log)->FindEnd(from, Lsn{0});
  INFO(found);
  REQUIRE(found.ok());
  return *std::move(log);
}

/// Appends without reserving.
inline Lsn AppendReserved(Log& log, const std::string& text) {
  return log.Append(text.size(),
                    [&](Lsn, std::byte* bytes) { std::memcpy(bytes, text.data(), text.size()); });
}

/// As above, and pays for the record's group.
inline std::optional<Lsn> TryAppendPaid(Log& log, const std::string& text) {
  return log.TryAppendPaid(
      text.size(), [&](Lsn, std::byte* bytes) { std::memcpy(bytes, text.data(), text.size()); });
}

inline Lsn MustAppend(Log& log, const std::string& text) {
  REQUIRE(log.Reserve(log.RecordSpace(text.size())).ok());
  return AppendReserved(log, text);
}

inline Lsn MustAppendDurably(Log& log, const std::string& text) {
  const Lsn lsn = MustAppend(log, text);
  REQUIRE(log.Flush(log.next()).ok());
  return lsn;
}

using Records = std::map<uint64_t, std::string>;  // by LSN

inline absl::StatusOr<Records> ReadAll(Log& log, Lsn from = Lsn{0}) {
  Records records;
  const absl::Status status = log.ForEach(from, [&](const LogRecordView& record) {
    records[Raw(record.lsn)] =
        std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return records;
}

inline Records MustReadAll(Log& log, Lsn from = Lsn{0}) {
  auto records = ReadAll(log, from);
  INFO(records.status());
  REQUIRE(records.ok());
  return *std::move(records);
}

inline std::string MustRead(Log& log, Lsn lsn) {
  std::vector<std::byte> bytes;
  const absl::Status status = log.Read(lsn, &bytes);
  INFO(status);
  REQUIRE(status.ok());
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace latchkey
