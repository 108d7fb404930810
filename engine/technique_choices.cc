#include "engine/technique_choices.h"

#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {

void TechniqueChoices::SpellOut(Techniques* techniques) const {
  techniques->layout = layout.ToString();
  techniques->segment_cleaning = segment_cleaning.ToString();
  techniques->page_compression = page_compression.ToString();
  techniques->replacement = replacement.ToString();
  techniques->synchronization = synchronization.ToString();
  techniques->fix = fix.ToString();
  techniques->page_in = page_in.ToString();
  techniques->cleaner = cleaner.ToString();
  techniques->cleaning_scope = cleaning_scope.ToString();
  techniques->victims = victims.ToString();
}

absl::StatusOr<TechniqueChoices> ParseTechniques(const Techniques& techniques) {
  LATCHKEY_ASSIGN_OR_RETURN(LayoutChoice layout, ParseLayout(techniques.layout));
  LATCHKEY_ASSIGN_OR_RETURN(CleaningPolicyChoice segment_cleaning,
                            ParseSegmentCleaning(techniques.segment_cleaning, layout));
  LATCHKEY_ASSIGN_OR_RETURN(PageCodecChoice page_compression,
                            PageCodecs().Parse(techniques.page_compression));
  LATCHKEY_ASSIGN_OR_RETURN(ReplacementChoice replacement,
                            ReplacementAlgorithms().Parse(techniques.replacement));
  LATCHKEY_ASSIGN_OR_RETURN(SynchronizationChoice synchronization,
                            SynchronizationSchemes().Parse(techniques.synchronization));
  LATCHKEY_ASSIGN_OR_RETURN(FixModeChoice fix, FixModes().Parse(techniques.fix));
  LATCHKEY_RETURN_IF_ERROR(CheckFixMode(synchronization, fix.entry().mode));
  LATCHKEY_ASSIGN_OR_RETURN(PageInChoice page_in, PageIns().Parse(techniques.page_in));
  LATCHKEY_ASSIGN_OR_RETURN(CleaningControllerChoice cleaner,
                            CleaningControllers().Parse(techniques.cleaner));
  LATCHKEY_ASSIGN_OR_RETURN(CleaningScopeChoice cleaning_scope,
                            CleaningScopes().Parse(techniques.cleaning_scope));
  LATCHKEY_ASSIGN_OR_RETURN(VictimPreferenceChoice victims,
                            VictimPreferences().Parse(techniques.victims));
  return TechniqueChoices{std::move(layout),           std::move(segment_cleaning),
                          std::move(page_compression), std::move(replacement),
                          std::move(synchronization),  std::move(fix),
                          std::move(page_in),          std::move(cleaner),
                          std::move(cleaning_scope),   std::move(victims)};
}

}  // namespace latchkey
