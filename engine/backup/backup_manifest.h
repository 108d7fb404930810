// The manifest of a backup: what it consists of. A backup counts once its manifest has its name,
// which it gets last. FORMAT.md describes the text.
//
// Thread-safety: values and pure functions.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"
#include "engine/log/client_root.h"
#include "storage/wal/log.h"

namespace latchkey {

struct BackupManifest {
  struct File {
    std::string name;
    uint64_t bytes = 0;
    uint64_t hash = 0;  ///< XXH3-64, seed 0, of all bytes
  };

  uint32_t number = 0;
  uint64_t id = 0;
  uint64_t parent_id = 0;
  uint64_t database_id = 0;
  uint32_t page_size = 0;
  uint64_t clock = 0;  ///< PageStore::accepted_ticket when the first of its pages was looked at
  // From here on known at the end only.
  uint64_t pages = 0;
  uint64_t resumed_pages = 0;
  uint64_t page_ids = 0;  ///< above every page id in it
  ClientRoot root;        ///< with which a restored database begins; `end` is the end of the log
  LogShape log_shape;
  std::vector<File> page_files;  ///< in the order in which they were written
  File log_file;

  BackupInfo Info() const;
};

/// `finished`: the manifest of a backup; otherwise the mark of one that has begun.
std::string EncodeManifest(const BackupManifest& manifest, bool finished);
/// DataLoss: not what EncodeManifest makes. FailedPrecondition: of a newer version.
absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text, bool finished);

}  // namespace latchkey
