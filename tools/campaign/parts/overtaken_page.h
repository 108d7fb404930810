// A page that is written again while its batch goes to the slots keeps its slot.
#pragma once

#include <absl/status/status.h>

namespace latchkey {

/// Writes a page in place again and again, each time while the write before it is at another point of
/// its way to the slot. Writes new pages in between. Internal: a page had another content than was
/// last written.
absl::Status AnOvertakenPageKeepsItsSlot();

}  // namespace latchkey
