// The order in which versions are written to the spill device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/txn/settled_versions.h"

namespace latchkey {

/// Order by tree and key; the versions of a key newest first.
bool IsBefore(const SettlingVersion& a, const SettlingVersion& b);

/// The indexes of `versions` in the order of IsBefore. Takes time in proportion to their number if
/// eight bytes tell the keys of a tree apart. Takes 40 bytes of memory a version while it runs.
std::vector<uint32_t> OrderOf(std::span<const SettlingVersion> versions);

}  // namespace latchkey
