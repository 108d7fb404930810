// Seeded mutations of an input, for the driver without a coverage-guided fuzzer.
#pragma once

#include <string>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey {

/// One to sixteen small changes of one of `seeds` (not empty): bits, bytes, integers at their
/// limits, pieces moved, dropped, doubled, or taken from another seed. At most `max_size` bytes.
std::string Mutate(const std::vector<std::string>& seeds, size_t max_size, Rng& rng);

}  // namespace latchkey
