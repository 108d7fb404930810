// Options::techniques, parsed. Technique names are text at the public border only. They are parsed
// once, when a database is opened; after that the code carries these choices.
#pragma once

#include <absl/status/statusor.h>

#include "bufferpool/cleaning/cleaning_choices.h"
#include "bufferpool/cleaning/cleaning_controller.h"
#include "bufferpool/fix_choices.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "engine/latchkey.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/image/page_codec.h"
#include "layout/separate/separator.h"

namespace latchkey {

struct TechniqueChoices {
  LayoutChoice layout;
  CleaningPolicyChoice segment_cleaning;
  PageCodecChoice page_compression;
  ReplacementChoice replacement;
  SynchronizationChoice synchronization;
  FixModeChoice fix;
  PageInChoice page_in;
  CleaningControllerChoice cleaner;
  CleaningScopeChoice cleaning_scope;
  VictimPreferenceChoice victims;

  /// Writes every name and all parameters in full into `techniques`. Reports of results print this.
  void SpellOut(Techniques* techniques) const;
};

/// InvalidArgument for the first unknown name, with the known ones, and for a fix mode that the
/// synchronization scheme does not have.
absl::StatusOr<TechniqueChoices> ParseTechniques(const Techniques& techniques);

}  // namespace latchkey
