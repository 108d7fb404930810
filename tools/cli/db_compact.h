// The verb compact.
#pragma once

#include <string>

#include "tools/cli/db_open.h"

namespace latchkey {

struct CompactFlags {
  DatabaseFlags db;
  std::string max_mb_s;           ///< millions of bytes per second; empty: no limit
  std::string space_utilization;  ///< of the file at the end; empty: as by default
};
/// Makes the database's files small. Exit code 3: a page of it is damaged.
int CompactCommand(const CompactFlags& flags);

}  // namespace latchkey
