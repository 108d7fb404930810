// The images that the corruption campaign damages: the disks of one small database, closed or
// crashed, with what may be found in them.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/device/faulty/disk_image.h"
#include "tools/campaign/crash_subject.h"

namespace latchkey {

inline constexpr uint32_t kDataDisk = 0, kLogDisk = 1, kJournalDisk = 2, kImageDisks = 3;

enum class ImageState : uint8_t {
  kClosed,   ///< closed cleanly
  kCrashed,  ///< killed behind the last commit: every write that completed is there
  kTorn,     ///< power lost while pages were being written: some sectors of them are there
};
inline constexpr ImageState kAllImageStates[] = {ImageState::kClosed, ImageState::kCrashed,
                                                 ImageState::kTorn};
const char* ImageStateName(ImageState state);

struct ByteRange {
  uint64_t begin = 0, end = 0;
};

/// Epoch and position of a group of a log; zeros: none.
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
  std::vector<DiskImage> foreign;  ///< another database that has done the same
  CommitOracle oracle;
  /// Of a crashed image: the groups of the log in the order in which they were written, and where
  /// the last whole one lies on its disk. Empty: the image was closed.
  std::vector<WrittenGroup> groups;
  std::vector<ByteRange> last_group;

  /// Whether the recovered contents are those after every acknowledged commit.
  bool IsRight(uint64_t contents) const { return oracle.Accepts(position, contents); }
  /// Whether the contents are those after the commits of `newest` and the groups before it. False
  /// when nothing was written behind it, or the image was closed.
  bool IsRightUpTo(GroupName newest, uint64_t contents) const;
};

/// Runs the workload of `seed` once on `layout`, and again as another database.
absl::StatusOr<CorruptionImage> MakeCorruptionImage(const std::string& layout, ImageState state,
                                                    uint64_t seed);

/// The newest group that is whole, anywhere on a log's disk.
GroupName NewestGroup(const DiskImage& log);

/// What a damaged image turned out to be.
struct ImageContents {
  uint64_t fingerprint = 0;  ///< as CommitOracle has them
};

/// Opens the disks, lets the database recover, verifies it and reads all of it. With
/// `close_and_reopen` also closes it, opens it again and wants the same contents. The error says
/// why not; Internal: an actor hangs, or a device was misused.
absl::StatusOr<ImageContents> OpenImage(const CorruptionImage& image,
                                        const std::vector<DiskImage>& disks, bool close_and_reopen);

}  // namespace latchkey
