// What the system tells about the place of a database without a measurement: its file system, and the
// block device below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey {

struct MountFacts {
  std::string file_system;  ///< its type: "ext4"; empty = not known
  std::string source;       ///< "/dev/sda1"
  std::string options;      ///< of the mount and of the file system, comma-separated
  /// Whether one of the options is `option`.
  bool has(std::string_view option) const;
};
/// The mount with this device number in the text of /proc/self/mountinfo; the last one if there are
/// several.
MountFacts FindMount(std::string_view mountinfo, unsigned major, unsigned minor);

/// nullopt = not known: no block device, or a kernel that does not tell.
struct BlockQueueFacts {
  std::string name;  ///< "nvme0n1"; empty = no block device found
  /// As the kernel believes; virtual disks often claim it.
  std::optional<bool> rotational = std::nullopt;
  /// queue/write_cache is "write back".
  std::optional<bool> has_volatile_cache = std::nullopt;
  /// An aligned write of this size is never torn.
  std::optional<uint64_t> atomic_write_bytes = std::nullopt;
};
/// `device` is the directory of the device or partition in sysfs: "/sys/dev/block/259:1".
BlockQueueFacts ReadBlockQueue(const std::string& device);

struct DeviceFacts {
  bool direct_io = false;
  std::string description;  ///< BlockDevice::Describe
  MountFacts mount;
  BlockQueueFacts queue;
};
/// Mount and queue of the existing directory `path`. What cannot be read is not known.
DeviceFacts ReadDeviceFacts(const std::string& path);

}  // namespace latchkey
