#include "engine/backup/backup_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "storage/device/file_transfer.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<BackupFileWriter>> BackupFileWriter::Create(
    Runtime& runtime, const std::string& path) {
  LATCHKEY_ASSIGN_OR_RETURN(OpenFile file,
                            OpenDeviceFile(runtime, path, {.creation = FileCreation::kMustBeNew}));
  return std::unique_ptr<BackupFileWriter>(new BackupFileWriter(path, std::move(file)));
}

absl::Status BackupFileWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), buffer_.size() - filled_);
    std::memcpy(buffer_.data() + filled_, bytes.data(), part);
    filled_ += part;
    bytes = bytes.subspan(part);
    if (filled_ == buffer_.size()) LATCHKEY_RETURN_IF_ERROR(WriteBuffer());
  }
  return absl::OkStatus();
}

absl::Status BackupFileWriter::WriteBuffer() {
  if (filled_ == 0) return absl::OkStatus();
  hash_.Add(buffer_.span().first(filled_));
  uint64_t done = 0;
  LATCHKEY_RETURN_IF_ERROR(TransferAll(
      {"write", path_, written_, filled_, static_cast<uint32_t>(kBackupBlockBytes)}, &done,
      [&](uint64_t offset, uint64_t from, size_t length) {
        return pwrite(file_.fd.get(), buffer_.data() + from, length, static_cast<off_t>(offset));
      }));
  written_ += filled_;
  filled_ = 0;
  return absl::OkStatus();
}

absl::Status BackupFileWriter::Finish() {
  const size_t padded = (filled_ + kBackupBlockBytes - 1) / kBackupBlockBytes * kBackupBlockBytes;
  std::memset(buffer_.data() + filled_, 0, padded - filled_);
  filled_ = padded;
  LATCHKEY_RETURN_IF_ERROR(WriteBuffer());
  if (LATCHKEY_CANARY("backup-file-not-synced") || fsync(file_.fd.get()) == 0) {
    return absl::OkStatus();
  }
  return FileError("sync", path_, errno);
}

absl::StatusOr<std::unique_ptr<BackupFileReader>> BackupFileReader::Open(Runtime& runtime,
                                                                         const std::string& path,
                                                                         uint64_t bytes) {
  std::error_code error;
  const uint64_t found = std::filesystem::file_size(path, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return FileError("inspect", path, error.value());
  }
  if (error) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{} is missing: put it back, or use an earlier backup", path);
  }
  if (found != bytes) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{} has {} bytes instead of {}: use an earlier backup", path, found, bytes);
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      std::unique_ptr<FileDevice> device,
      FileDevice::Open(runtime, path, {.creation = FileCreation::kMustExist, .read_only = true}));
  return std::unique_ptr<BackupFileReader>(new BackupFileReader(path, bytes, std::move(device)));
}

absl::Status BackupFileReader::ForEachPiece(
    uint64_t begin, uint64_t end,
    absl::FunctionRef<absl::Status(uint64_t, std::span<const std::byte>)> visit) {
  if (buffer_.size() == 0) buffer_ = AlignedBuffer(kBackupPieceBytes);
  for (uint64_t at = begin; at < end;) {
    const std::span<std::byte> piece =
        buffer_.span().first(std::min<uint64_t>(kBackupPieceBytes, end - at));
    LATCHKEY_RETURN_IF_ERROR(Read(at, piece));
    LATCHKEY_RETURN_IF_ERROR(visit(at, piece));
    at += piece.size();
  }
  return absl::OkStatus();
}

absl::Status ReplaceBackupFile(Runtime& runtime, const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  std::error_code error;
  std::filesystem::remove(fresh, error);
  {
    LATCHKEY_ASSIGN_OR_RETURN(
        const OpenFile file,
        OpenDeviceFile(runtime, fresh, {.creation = FileCreation::kMustBeNew, .direct_io = false}));
    uint64_t done = 0;
    LATCHKEY_RETURN_IF_ERROR(TransferAll({"write", fresh, 0, text.size(), 1}, &done,
                                         [&](uint64_t offset, uint64_t from, size_t length) {
                                           return pwrite(file.fd.get(), text.data() + from, length,
                                                         static_cast<off_t>(offset));
                                         }));
    if (fsync(file.fd.get()) != 0) return FileError("sync", fresh, errno);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return FileError("rename", fresh, errno);
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) return FileError("open", path, error.value());
  if (bytes > most) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{} has {} bytes, at most {} make sense", path,
                      bytes, most);
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(bytes, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(bytes))) {
    return MakeStatus(absl::StatusCode::kUnavailable, "cannot read {}", path);
  }
  return text;
}

}  // namespace latchkey
