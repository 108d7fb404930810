// The images that the corruption campaign damages: the disks of one small database, closed or
// crashed, and the contents that an open may find.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

inline constexpr uint32_t kDataDisk = 0, kLogDisk = 1, kJournalDisk = 2, kImageDisks = 3;

enum class ImageState : uint8_t {
  kClosed,   ///< closed cleanly
  kCrashed,  ///< killed after the last commit: every completed write is there
  kTorn,     ///< power lost while pages were being written: some sectors of them are there
};
inline constexpr ImageState kAllImageStates[] = {ImageState::kClosed, ImageState::kCrashed,
                                                 ImageState::kTorn};
const char* ImageStateName(ImageState state);

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

/// Epoch and position of a log group; zeros: none.
using GroupName = std::pair<uint64_t, uint64_t>;

struct WrittenGroup {
  GroupName name;
  uint64_t position = 0;  ///< in the recording, before it was written
};

/// Not thread-safe; copies of the disks are cheap (DiskImage).
struct CorruptionImage {
  std::string layout;
  ImageState state = ImageState::kClosed;
  uint64_t seed = 0;
  uint64_t position = 0;           ///< in the recording: the moment of the crash
  std::vector<DiskImage> disks;    ///< data, log, journal
  std::vector<DiskImage> older;    ///< the same database earlier in the same run
  std::vector<DiskImage> foreign;  ///< another database with the same history
  CommitOracle oracle;
  /// Of a crashed image: the groups of the log in the order of their writes, and the place of the
  /// last whole group on the log disk. Empty: the image was closed.
  std::vector<WrittenGroup> groups;
  std::vector<ByteRange> last_group;

  /// Whether the recovered contents are those after every acknowledged commit.
  bool IsRight(uint64_t contents) const { return oracle.Accepts(position, contents); }
  /// Whether the contents are those after the commits of `newest` and of the groups before it.
  /// False if nothing was written after it, or the image was closed.
  bool IsRightUpTo(GroupName newest, uint64_t contents) const;
};

/// Runs the workload of `seed` once on `layout`, and a second time as another database.
absl::StatusOr<CorruptionImage> MakeCorruptionImage(const std::string& layout, ImageState state,
                                                    uint64_t seed);

/// The newest whole group anywhere on the disk of a log.
GroupName NewestGroup(const DiskImage& log);

/// The contents of a damaged image.
struct ImageContents {
  uint64_t fingerprint = 0;  ///< as CommitOracle has them
};

/// Opens the disks, lets the database recover, verifies it and reads all of it. With
/// `close_and_reopen` it also closes the database, opens it again and compares the contents.
/// Returns the error of the step that failed. Internal: an actor hangs, or a device was misused.
absl::StatusOr<ImageContents> OpenImage(const CorruptionImage& image,
                                        const std::vector<DiskImage>& disks, bool close_and_reopen);

}  // namespace latchkey
