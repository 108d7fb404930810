#include "engine/log/client_root.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint32_t kFormatVersion = 4, kSinceBackups = 3, kOldestVersion = 1;
constexpr uint32_t kHasLog = 1, kClean = 2;

struct Bytes {
  uint32_t format_version;
  uint32_t next_tree_id;
  uint64_t catalog_root;
  uint64_t next_txn_id;
  uint32_t flags;
  uint32_t backups;
  uint64_t redo, first_needed, scan_from, end;
};
static_assert(sizeof(Bytes) == 64);
constexpr size_t kVersion1Size = 24;

struct NoteBytes {
  uint64_t id;
  uint32_t page_files;
  uint32_t finished;
};
static_assert(sizeof(NoteBytes) == 16);

}  // namespace

std::vector<std::byte> EncodeClientRoot(const ClientRoot& root) {
  const Bytes bytes{.format_version = kFormatVersion,
                    .next_tree_id = root.next_tree_id,
                    .catalog_root = Raw(root.catalog_root),
                    .next_txn_id = Raw(root.next_txn_id),
                    .flags = (root.has_log ? kHasLog : 0) | (root.clean ? kClean : 0),
                    .backups = static_cast<uint32_t>(root.backups.size()),
                    .redo = Raw(root.redo),
                    .first_needed = Raw(root.first_needed),
                    .scan_from = Raw(root.scan_from),
                    .end = Raw(root.end)};
  std::vector<std::byte> encoded(sizeof(bytes) + root.backups.size() * sizeof(NoteBytes));
  std::memcpy(encoded.data(), &bytes, sizeof(bytes));
  std::byte* at = encoded.data() + sizeof(bytes);
  for (const BackupNote& note : root.backups) {
    const NoteBytes note_bytes{note.id, note.page_files, note.finished ? 1u : 0u};
    std::memcpy(at, &note_bytes, sizeof(note_bytes));
    at += sizeof(note_bytes);
  }
  return encoded;
}

absl::StatusOr<ClientRoot> DecodeClientRoot(std::span<const std::byte> encoded) {
  Bytes bytes{};
  if (encoded.size() != kVersion1Size && encoded.size() < sizeof(bytes)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the client root has {} bytes instead of {} or {}", encoded.size(),
                      kVersion1Size, sizeof(bytes));
  }
  std::memcpy(&bytes, encoded.data(), std::min(encoded.size(), sizeof(bytes)));
  if (bytes.format_version < kOldestVersion || bytes.format_version > kFormatVersion) {
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "the catalogue has format {}, this program reads formats {} to {}: use a newer program",
        bytes.format_version, kOldestVersion, kFormatVersion);
  }
  const uint64_t backups = bytes.format_version < kSinceBackups ? 0 : bytes.backups;
  if (encoded.size() > sizeof(bytes) + backups * sizeof(NoteBytes) ||
      backups > ClientRoot::kMostBackups ||
      encoded.size() < (backups == 0 ? 0 : sizeof(bytes) + backups * sizeof(NoteBytes))) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the client root names {} backups (at most {}) in {} bytes", backups,
                      ClientRoot::kMostBackups, encoded.size());
  }
  std::vector<BackupNote> notes;
  for (uint64_t i = 0; i < backups; ++i) {
    NoteBytes note;
    std::memcpy(&note, encoded.data() + sizeof(bytes) + i * sizeof(note), sizeof(note));
    notes.push_back({note.id, note.page_files, note.finished != 0});
  }
  const bool has_log = (bytes.flags & kHasLog) != 0;
  if (has_log && (bytes.redo == 0 || bytes.scan_from > bytes.first_needed ||
                  bytes.first_needed > bytes.redo || bytes.redo > bytes.end)) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "the client root's log positions contradict each other: scan from {}, first "
                      "needed {}, redo {}, end {}",
                      bytes.scan_from, bytes.first_needed, bytes.redo, bytes.end);
  }
  return ClientRoot{.next_tree_id = bytes.next_tree_id,
                    .catalog_root = PageId{bytes.catalog_root},
                    .next_txn_id = TxnId{bytes.next_txn_id},
                    .has_log = has_log,
                    .clean = (bytes.flags & kClean) != 0,
                    .redo = Lsn{bytes.redo},
                    .first_needed = Lsn{bytes.first_needed},
                    .scan_from = Lsn{bytes.scan_from},
                    .end = Lsn{bytes.end},
                    .backups = std::move(notes)};
}

}  // namespace latchkey
