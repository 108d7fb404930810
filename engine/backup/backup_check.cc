#include "engine/backup/backup_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/wal/log_piece.h"

namespace latchkey {
namespace {

absl::Status WrongHash(const std::string& path) {
  return MakeStatus(
      absl::StatusCode::kDataLoss,
      "{} is damaged: its checksum is not that of the manifest; use an earlier backup", path);
}

absl::Status CheckPageFile(Runtime& runtime, const BackupDirectory& directory,
                           const BackupManifest& backup, uint32_t number,
                           absl::FunctionRef<absl::Status(uint64_t)> go_on) {
  const BackupManifest::File& file = backup.page_files[number - 1];
  const std::string path = directory.PathOf(file.name);
  LATCHKEY_RETURN_IF_ERROR(BackupFileReader::Open(runtime, path, file.bytes).status());
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageFileReader> reader,
                            OpenPageFile(runtime, directory, backup, number));
  uint64_t hash = 0, unreported = 0;
  LATCHKEY_RETURN_IF_ERROR(reader->ForEachImage(
      [&](const BackupPageEntry&, std::span<const std::byte> image) {
        unreported += image.size();
        return unreported < kBackupPieceBytes ? absl::OkStatus()
                                              : go_on(std::exchange(unreported, 0));
      },
      &hash));
  return hash == file.hash ? go_on(unreported) : WrongHash(path);
}

absl::Status CheckLogFile(Runtime& runtime, const BackupDirectory& directory,
                          const BackupManifest& backup,
                          absl::FunctionRef<absl::Status(uint64_t)> go_on) {
  const std::string path = directory.PathOf(backup.log_file.name);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BackupFileReader> file,
                            BackupFileReader::Open(runtime, path, backup.log_file.bytes));
  StreamHash hash;
  LATCHKEY_RETURN_IF_ERROR(
      file->ForEachPiece(0, file->bytes(), [&](uint64_t, std::span<const std::byte> piece) {
        hash.Add(piece);
        return go_on(piece.size());
      }));
  if (hash.value() != backup.log_file.hash) return WrongHash(path);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BackupLogReader> reader,
                            BackupLogReader::Open(runtime, directory, backup));
  const auto read = [&](Lsn lsn, std::span<std::byte> out) { return reader->Read(lsn, out); };
  const absl::Status sound =
      ForEachGroup({.database_id = backup.database_id,
                    .shape = backup.log_shape,
                    .from = backup.root.scan_from,
                    .to = backup.root.end,
                    .read = read},
                   [](const GroupHeader&, std::span<std::byte>) { return absl::OkStatus(); });
  if (sound.ok()) return sound;
  return MakeStatus(sound.code(), "{}: {}", path, std::string(sound.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BackupLogReader>> BackupLogReader::Open(
    Runtime& runtime, const BackupDirectory& directory, const BackupManifest& backup) {
  const std::string path = directory.PathOf(backup.log_file.name);
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BackupFileReader> file,
                            BackupFileReader::Open(runtime, path, backup.log_file.bytes));
  AlignedBuffer block(kBackupBlockBytes);
  if (file->bytes() > 0) LATCHKEY_RETURN_IF_ERROR(file->Read(0, block.span()));
  if (!IsBackupFileHeader(block.span(), HeaderOf(backup, BackupFileHeader::Kind::kLog, 1))) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{} is not the log of this backup", path);
  }
  return std::unique_ptr<BackupLogReader>(
      new BackupLogReader(std::move(file), backup.root.scan_from));
}

absl::Status BackupLogReader::Read(Lsn lsn, std::span<std::byte> out) {
  uint64_t at = kBackupBlockBytes + (Raw(lsn) - Raw(from_));
  while (!out.empty()) {
    if (at < begin_ || at >= end_) {
      begin_ = at / kBackupBlockBytes * kBackupBlockBytes;
      end_ = std::min(begin_ + window_.size(), file_->bytes());
      if (at >= end_) return absl::DataLossError("the copy of the log is too short");
      LATCHKEY_RETURN_IF_ERROR(file_->Read(begin_, window_.span().first(end_ - begin_)));
    }
    const size_t part = std::min<uint64_t>(out.size(), end_ - at);
    std::memcpy(out.data(), window_.data() + (at - begin_), part);
    out = out.subspan(part);
    at += part;
  }
  return absl::OkStatus();
}

absl::Status CheckBackupFiles(Runtime& runtime, const BackupDirectory& directory,
                              const BackupManifest& backup,
                              absl::FunctionRef<absl::Status(uint64_t bytes)> go_on) {
  for (uint32_t file = 1; file <= backup.page_files.size(); ++file) {
    LATCHKEY_RETURN_IF_ERROR(CheckPageFile(runtime, directory, backup, file, go_on));
  }
  return CheckLogFile(runtime, directory, backup, go_on);
}

}  // namespace latchkey
