// The statistics of a segment store, collected from its parts.
#pragma once

#include "layout/checkpoint/map_checkpointer.h"
#include "layout/clean/segment_cleaner.h"
#include "layout/map/page_directory.h"
#include "layout/separate/separator.h"
#include "layout/separate/write_cost_model.h"
#include "layout/space/space_manager.h"
#include "storage/page_store.h"

namespace latchkey {

/// `costs`: the measured costs of now.
PageStoreStats CollectStats(const PageDirectory& directory, const SpaceManager& space,
                            const MapCheckpointer& checkpointer, const Separator& separator,
                            const SegmentCleaner& cleaner, const PageCosts& costs);

}  // namespace latchkey
