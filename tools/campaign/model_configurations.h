// The combinations of options that the model campaign runs on: a set of rows that holds every pair
// of values of every two options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// What a database of the model campaign lives on.
enum class ModelMedium : uint8_t {
  kMemory,    ///< Options::in_memory_device: closing it is the end
  kFile,      ///< real files: closed and opened again
  kPowerCut,  ///< simulated disks: closed and opened again, and cut off from the power
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

/// Number `number` of a sequence that goes round through all rows. Same number, same options.
ModelConfiguration ConfigurationOf(uint64_t number);

/// Rows of the set; any so many configurations in a row hold every pair.
size_t ModelRows();
/// Pairs of option values in the rows that are set in `used` (ModelRows() flags), and in all.
struct ModelPairs {
  size_t run = 0, all = 0;
};
ModelPairs CountModelPairs(const std::vector<bool>& used);

}  // namespace latchkey
