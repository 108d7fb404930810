// Computes, from the recorded calls on a database's files, the directories that a machine may find
// after it lost its power at any of these calls.
//
// Files follow the rules of disks in crash_replay.h: an unsynced write may be there wholly, partly
// or not at all, and so may a change of size. Each name that was made, renamed or removed may be
// the old one or the new one until its directory is synced, independently of other names. A sync of
// a file makes no name durable, and a sync of a directory makes no bytes durable.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "storage/device/faulty/crash_replay.h"
#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/power/file_trace.h"

namespace latchkey {

/// The directory of a database.
struct FileState {
  bool has_directory = false;
  std::map<std::string, uint32_t> names;  ///< to the number of a file
  std::vector<DiskImage> files;
};

/// Writes the directory `path` as `state` says; writes nothing if the state has no directory.
/// REQUIRES: `path` does not exist. Unavailable: the reason of the file system.
absl::Status WriteFileState(const FileState& state, const std::string& path);

enum class NameChoice : uint8_t { kAll, kNone, kSome };

struct FileChoice {
  CrashChoice content;
  NameChoice names = NameChoice::kAll;  ///< of those that wait for a sync; kSome: by the seed
};

/// Moves forward through the events. Not thread-safe. REQUIRES: `events` outlive this.
class FileReplay {
 public:
  FileReplay(const FileState& initial, std::span<const FileEvent> events);

  uint64_t position() const { return position_; }
  uint64_t end() const { return events_.size(); }
  /// REQUIRES: position() <= `position` <= end().
  void AdvanceTo(uint64_t position);
  /// Whether the states of this position can differ from those of the position before.
  bool changed() const { return content_.changed() || names_changed_; }
  /// Number of names that wait for a sync of their directory.
  size_t pending_names() const { return pending_.size(); }

  std::vector<CrashChoice> ContentChoices(const CrashChoiceOptions& options) const {
    return content_.Choices(options);
  }
  /// One possible state. `seed` and the position decide the details that `choice` leaves open.
  FileState State(const FileChoice& choice, uint64_t seed) const;
  /// The names that a process sees now.
  FileState Names() const;

 private:
  struct PendingName {
    uint64_t index = 0;
    FileEvent event;
  };

  void Apply(const FileEvent& event, uint64_t index);
  static void Put(const FileEvent& event, FileState* state);

  const std::span<const FileEvent> events_;
  const std::vector<DiskEvent> disk_events_;  // one for each of events_
  CrashReplay content_;
  uint64_t position_ = 0;
  bool names_changed_ = false;
  FileState durable_;  // its names
  std::vector<PendingName> pending_;
};

}  // namespace latchkey
