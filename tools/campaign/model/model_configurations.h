// The combinations of options of the model campaign: a set of rows that holds every pair of values
// of every two options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// The medium of a database in the model campaign.
enum class ModelMedium : uint8_t {
  kMemory,    ///< Options::in_memory_device: closing it is the end
  kFile,      ///< real files: closed and opened again
  kPowerCut,  ///< simulated disks: closed and opened again, with power losses
  /// The same on disks that tear no write, without protection against torn pages.
  kPowerCutUntorn,
};

struct ModelConfiguration {
  Options options;
  ModelMedium medium = ModelMedium::kMemory;
  size_t row = 0;  ///< of the set

  bool has_disks() const {
    return medium == ModelMedium::kPowerCut || medium == ModelMedium::kPowerCutUntorn;
  }

  std::string Describe() const;
};

/// Number `number` of an endless sequence that repeats all rows. Same number, same options.
ModelConfiguration ConfigurationOf(uint64_t number);

/// Number of rows. Any sequence of this many consecutive configurations holds every pair.
size_t ModelRows();
/// Pairs of option values in the rows that are set in `used` (ModelRows() flags), and in all rows.
struct ModelPairs {
  size_t run = 0, all = 0;
};
ModelPairs CountModelPairs(const std::vector<bool>& used);

}  // namespace latchkey
