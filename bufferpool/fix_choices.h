// Choices beside the fix policy: how a page is fixed for reading, and how it is brought into a frame.
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

/// How a page that a fix or a read-ahead asks for is read from the store (Nb-GCLOCK, Figure 9).
enum class PageIn : uint8_t {
  kBlocking,  ///< its first reader begins the load before it reads; the others wait
  /// Every reader reads it into a frame of its own. The first one to begin the load publishes its
  /// frame; the others give theirs back.
  kOptimistic,
};

struct PageInInfo {
  ChoiceDescription description;
  PageIn page_in;
};
/// The list of ways: `blocking`, `optimistic`.
const Registry<PageInInfo>& PageIns();
using PageInChoice = Choice<PageInInfo>;

}  // namespace latchkey
