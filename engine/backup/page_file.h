// A page file of a backup: images of pages, one after the other, and an index of them behind the
// last. FORMAT.md describes the bytes.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backup/backup_file.h"
#include "engine/backup/backup_manifest.h"
#include "storage/base/ids.h"

namespace latchkey {

/// An entry of the index.
struct BackupPageEntry {
  uint64_t page = 0;
  uint32_t sequence = 0;  ///< of the image; 0: there is none, because the page is gone
  uint32_t zero = 0;
};
static_assert(sizeof(BackupPageEntry) == 16);

/// The first block of every file of a backup.
struct BackupFileHeader {
  enum class Kind : uint32_t { kPages = 1, kLog = 2 };
  Kind kind = Kind::kPages;
  uint64_t backup_id = 0;
  uint64_t database_id = 0;
  uint32_t page_size = 0;
  uint32_t number = 0;  ///< of the page file in its backup, from 1
};
void EncodeBackupFileHeader(const BackupFileHeader& header, std::span<std::byte> block);
/// Whether `block` is the header of this file of this backup.
bool IsBackupFileHeader(std::span<const std::byte> block, const BackupFileHeader& expected);

/// Writes one page file. Not thread-safe.
class PageFileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<PageFileWriter>> Create(Runtime& runtime,
                                                                const std::string& path,
                                                                const BackupFileHeader& header);
  /// Adds a sealed page.
  absl::Status Add(std::span<const std::byte> image);
  /// Notes that the page, which an earlier file has, is gone.
  void AddGone(PageId page) { gone_.push_back({.page = Raw(page)}); }
  /// Writes the index; the file is durable on return.
  absl::Status Seal();

  uint64_t bytes() const { return file_->bytes() + (images_.size() + gone_.size()) * 16; }
  uint64_t images() const { return images_.size(); }
  /// REQUIRES: Seal. The name is the caller's.
  BackupManifest::File Describe(std::string name) const {
    return {std::move(name), file_->bytes(), file_->hash()};
  }

 private:
  explicit PageFileWriter(std::unique_ptr<BackupFileWriter> file) : file_(std::move(file)) {}

  const std::unique_ptr<BackupFileWriter> file_;
  uint64_t seed_ = 0;  // of the checksums: the backup's id
  std::vector<BackupPageEntry> images_, gone_;
};

/// Reads a sealed page file. Not thread-safe.
class PageFileReader {
 public:
  /// Reads header and index, and proves them. DataLoss: missing, not sealed, damaged, another file.
  static absl::StatusOr<std::unique_ptr<PageFileReader>> Open(Runtime& runtime,
                                                              const std::string& path,
                                                              const BackupFileHeader& expected);
  /// The entries of the images in their order, then those of pages that are gone.
  std::span<const BackupPageEntry> entries() const { return entries_; }
  uint64_t images() const { return images_; }
  uint64_t bytes() const { return file_->bytes(); }
  /// Reads all of the file in order and proves each image. `visit(entry, image)`. Then *hash is that
  /// of the file.
  absl::Status ForEachImage(
      absl::FunctionRef<absl::Status(const BackupPageEntry&, std::span<const std::byte>)> visit,
      uint64_t* hash);

 private:
  PageFileReader(std::unique_ptr<BackupFileReader> file, const BackupFileHeader& header)
      : file_(std::move(file)), header_(header) {}
  absl::Status Damaged(std::string_view what) const;
  absl::Status ReadIndex();

  const std::unique_ptr<BackupFileReader> file_;
  const BackupFileHeader header_;
  std::vector<BackupPageEntry> entries_;
  uint64_t images_ = 0;
};

}  // namespace latchkey
