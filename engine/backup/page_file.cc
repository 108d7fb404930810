#include "engine/backup/page_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

constexpr char kHeaderMagic[9] = "LKBACKUP", kTailMagic[9] = "LKBKTAIL";
constexpr uint32_t kPageFileVersion = 1;

struct HeaderBytes {
  char magic[8];
  uint32_t version;
  uint32_t kind;
  uint64_t backup_id;
  uint64_t database_id;
  uint32_t page_size;
  uint32_t number;
};
static_assert(sizeof(HeaderBytes) == 40);

struct TailBytes {
  char magic[8];
  uint64_t images;
  uint64_t gone;
  uint64_t index_hash;  // XXH3-64, seed: the backup's id
  uint64_t checksum;    // of the bytes above, same seed
};
static_assert(sizeof(TailBytes) == 40);

uint64_t Padded(uint64_t bytes) {
  return (bytes + kBackupBlockBytes - 1) / kBackupBlockBytes * kBackupBlockBytes;
}

std::span<const std::byte> BytesOf(const std::vector<BackupPageEntry>& entries) {
  return std::as_bytes(std::span(entries));
}

}  // namespace

void EncodeBackupFileHeader(const BackupFileHeader& header, std::span<std::byte> block) {
  HeaderBytes bytes{.magic = {},
                    .version = kPageFileVersion,
                    .kind = static_cast<uint32_t>(header.kind),
                    .backup_id = header.backup_id,
                    .database_id = header.database_id,
                    .page_size = header.page_size,
                    .number = header.number};
  std::memcpy(bytes.magic, kHeaderMagic, sizeof(bytes.magic));
  std::memset(block.data(), 0, block.size());
  std::memcpy(block.data(), &bytes, sizeof(bytes));
  const uint64_t checksum = Hash64(block.data(), block.size() - 8, header.backup_id);
  std::memcpy(block.data() + block.size() - 8, &checksum, 8);
}

bool IsBackupFileHeader(std::span<const std::byte> block, const BackupFileHeader& expected) {
  std::vector<std::byte> sound(block.size());
  EncodeBackupFileHeader(expected, sound);
  return std::equal(block.begin(), block.end(), sound.begin());
}

absl::StatusOr<std::unique_ptr<PageFileWriter>> PageFileWriter::Create(
    Runtime& runtime, const std::string& path, const BackupFileHeader& header) {
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BackupFileWriter> file,
                            BackupFileWriter::Create(runtime, path));
  std::vector<std::byte> block(kBackupBlockBytes);
  EncodeBackupFileHeader(header, block);
  LATCHKEY_RETURN_IF_ERROR(file->Append(block));
  std::unique_ptr<PageFileWriter> writer(new PageFileWriter(std::move(file)));
  writer->seed_ = header.backup_id;
  return writer;
}

absl::Status PageFileWriter::Add(std::span<const std::byte> image) {
  const PageHeader header = PageHeaderOf(image);
  images_.push_back({.page = header.page_id, .sequence = header.write_sequence});
  return file_->Append(image);
}

absl::Status PageFileWriter::Seal() {
  TailBytes tail{
      .magic = {}, .images = images_.size(), .gone = gone_.size(), .index_hash = 0, .checksum = 0};
  std::memcpy(tail.magic, kTailMagic, sizeof(tail.magic));
  images_.insert(images_.end(), gone_.begin(), gone_.end());
  const std::span<const std::byte> index = BytesOf(images_);
  tail.index_hash = Hash64(index.data(), index.size(), seed_);
  tail.checksum = Hash64(&tail, offsetof(TailBytes, checksum), seed_);
  LATCHKEY_RETURN_IF_ERROR(file_->Append(index));
  LATCHKEY_RETURN_IF_ERROR(
      file_->Append(std::vector<std::byte>(Padded(index.size()) - index.size())));
  LATCHKEY_RETURN_IF_ERROR(file_->Append(std::as_bytes(std::span(&tail, 1))));
  images_.resize(tail.images);
  return file_->Finish();
}

absl::StatusOr<std::unique_ptr<PageFileReader>> PageFileReader::Open(
    Runtime& runtime, const std::string& path, const BackupFileHeader& expected) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<BackupFileReader> file,
                            BackupFileReader::Open(runtime, path, error ? 0 : bytes));
  std::unique_ptr<PageFileReader> reader(new PageFileReader(std::move(file), expected));
  LATCHKEY_RETURN_IF_ERROR(reader->ReadIndex());
  return reader;
}

absl::Status PageFileReader::Damaged(std::string_view what) const {
  return MakeStatus(absl::StatusCode::kDataLoss, "{} is damaged: {}; use an earlier backup",
                    file_->path(), what);
}

absl::Status PageFileReader::ReadIndex() {
  const uint64_t bytes = file_->bytes();
  if (bytes < 2 * kBackupBlockBytes || bytes % kBackupBlockBytes != 0) return Damaged("its size");
  AlignedBuffer block(kBackupBlockBytes);
  LATCHKEY_RETURN_IF_ERROR(file_->Read(0, block.span()));
  if (!IsBackupFileHeader(block.span(), header_)) {
    return Damaged("its first block is not that of this file of this backup");
  }
  LATCHKEY_RETURN_IF_ERROR(file_->Read(bytes - kBackupBlockBytes, block.span()));
  TailBytes tail;
  std::memcpy(&tail, block.data(), sizeof(tail));
  if (std::memcmp(tail.magic, kTailMagic, sizeof(tail.magic)) != 0 ||
      tail.checksum != Hash64(&tail, offsetof(TailBytes, checksum), header_.backup_id)) {
    return Damaged("its last block");
  }
  const uint64_t most = bytes / sizeof(BackupPageEntry);
  if (tail.images > most || tail.gone > most ||
      bytes != 2 * kBackupBlockBytes + tail.images * header_.page_size +
                   Padded((tail.images + tail.gone) * sizeof(BackupPageEntry))) {
    return Damaged("its last block and its size contradict each other");
  }
  images_ = tail.images;
  AlignedBuffer index(Padded((tail.images + tail.gone) * sizeof(BackupPageEntry)));
  if (index.size() > 0) {
    LATCHKEY_RETURN_IF_ERROR(
        file_->Read(kBackupBlockBytes + images_ * header_.page_size, index.span()));
  }
  entries_.resize(tail.images + tail.gone);
  const size_t used = entries_.size() * sizeof(BackupPageEntry);
  if (used > 0) std::memcpy(entries_.data(), index.data(), used);
  if (Hash64(entries_.data(), used, header_.backup_id) != tail.index_hash) {
    return Damaged("its index");
  }
  return absl::OkStatus();
}

absl::Status PageFileReader::ForEachImage(
    absl::FunctionRef<absl::Status(const BackupPageEntry&, std::span<const std::byte>)> visit,
    uint64_t* hash) {
  StreamHash stream;
  const auto skip = [&](uint64_t, std::span<const std::byte> piece) {
    stream.Add(piece);
    return absl::OkStatus();
  };
  const uint64_t end = kBackupBlockBytes + images_ * header_.page_size;
  LATCHKEY_RETURN_IF_ERROR(file_->ForEachPiece(0, kBackupBlockBytes, skip));
  size_t next = 0;
  const absl::Status visited = file_->ForEachPiece(
      kBackupBlockBytes, end, [&](uint64_t, std::span<const std::byte> piece) -> absl::Status {
        stream.Add(piece);
        for (; !piece.empty(); piece = piece.subspan(header_.page_size)) {
          const BackupPageEntry& entry = entries_[next++];
          const std::span<const std::byte> image = piece.first(header_.page_size);
          const absl::Status proof =
              VerifyPage(image, PageId{entry.page}, entry.sequence, header_.database_id);
          if (!proof.ok()) return Damaged(std::string(proof.message()));
          LATCHKEY_RETURN_IF_ERROR(visit(entry, image));
        }
        return absl::OkStatus();
      });
  LATCHKEY_RETURN_IF_ERROR(visited);
  LATCHKEY_RETURN_IF_ERROR(file_->ForEachPiece(end, file_->bytes(), skip));
  *hash = stream.value();
  return absl::OkStatus();
}

}  // namespace latchkey
