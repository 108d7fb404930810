// The verb advise: which layout, space utilisation and segment cleaning suit a trace or a database.
#pragma once

#include <string>

namespace latchkey {

/// Texts of the flags; "auto" and "" are resolved by the input.
struct AdviseFlags {
  std::string input;  ///< a trace, or the folder of a database
  std::string trace;  ///< of the writes of that database
  std::string cache = "auto";
  std::string distribution;
  std::string reads_per_write = "auto";
  std::string measure;
  std::string disk = "auto", disks = "auto", raid = "auto";
  std::string page_size = "auto", segment_size = "auto";
  std::string space_utilization = "0.8,0.9,0.95";
  std::string durability = "auto";
  std::string users = "20", replay = "8192", seed = "42";
  std::string json;
};
int AdviseCommand(const AdviseFlags& flags);

}  // namespace latchkey
