// Choices beside the fix policy: how a page is fixed for reading.
#pragma once

#include "storage/base/registry.h"

namespace latchkey {

/// How the layers above the pool fix the pages that they only read.
enum class FixMode : uint8_t {
  kOptimistic,  ///< latch nothing, and compare the page's version afterwards
  kLatched,     ///< hold the page's shared latch: the pin and unpin of the papers
};

struct FixModeInfo {
  ChoiceDescription description;
  FixMode mode;
};
/// The list of fix modes: `optimistic`, `latched`.
const Registry<FixModeInfo>& FixModes();
using FixModeChoice = Choice<FixModeInfo>;

}  // namespace latchkey
