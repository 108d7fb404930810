// The files of a backup: written once from front to back, read back in large pieces.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/base/hash.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/file_device.h"
#include "storage/device/file_open.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Bytes that a file of a backup is read or written with at once.
inline constexpr size_t kBackupPieceBytes = size_t{1} << 20;
/// Files of a backup are padded to it.
inline constexpr size_t kBackupBlockBytes = 4096;

/// XXH3-64, seed 0, of bytes that come in pieces.
class StreamHash {
 public:
  StreamHash() { XXH3_64bits_reset(&state_); }
  void Add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// A new file. Without the page cache where the file system allows it, so that a backup does not
/// push out what others have cached. Not thread-safe.
class BackupFileWriter {
 public:
  /// AlreadyExists and others: as FileDevice::Open.
  static absl::StatusOr<std::unique_ptr<BackupFileWriter>> Create(Runtime& runtime,
                                                                  const std::string& path);

  absl::Status Append(std::span<const std::byte> bytes);
  /// Appends zeros up to a whole block, and makes the file durable. Nothing may be appended later.
  absl::Status Finish();
  /// Appended so far, padding included once it is finished.
  uint64_t bytes() const { return written_ + filled_; }
  uint64_t hash() const { return hash_.value(); }  ///< REQUIRES: Finish

 private:
  BackupFileWriter(std::string path, OpenFile file)
      : path_(std::move(path)), file_(std::move(file)), buffer_(kBackupPieceBytes) {}
  absl::Status WriteBuffer();

  const std::string path_;
  const OpenFile file_;
  AlignedBuffer buffer_;
  size_t filled_ = 0;
  uint64_t written_ = 0;
  StreamHash hash_;
};

/// A file that is read. Not thread-safe.
class BackupFileReader {
 public:
  /// DataLoss: the file is missing, or has another size than `bytes`.
  static absl::StatusOr<std::unique_ptr<BackupFileReader>> Open(Runtime& runtime,
                                                                const std::string& path,
                                                                uint64_t bytes);
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  /// REQUIRES: whole blocks of kBackupBlockBytes in the file; `out` aligned to 4096.
  absl::Status Read(uint64_t offset, std::span<std::byte> out) {
    return device_->Read(offset, out, IoClass::kMeta);
  }
  /// Reads the range in pieces of at most kBackupPieceBytes, and calls `visit(offset, piece)`.
  absl::Status ForEachPiece(
      uint64_t begin, uint64_t end,
      absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> visit);

 private:
  BackupFileReader(std::string path, uint64_t bytes, std::unique_ptr<FileDevice> device)
      : path_(std::move(path)), bytes_(bytes), device_(std::move(device)) {}

  const std::string path_;
  const uint64_t bytes_;
  const std::unique_ptr<FileDevice> device_;
  AlignedBuffer buffer_;
};

/// Writes a small file durably and in one step, in place of one of that name.
absl::Status ReplaceBackupFile(Runtime& runtime, const std::string& path, std::string_view text);

/// The whole content of a small file. NotFound; DataLoss: it has more than `most` bytes.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most);

}  // namespace latchkey
