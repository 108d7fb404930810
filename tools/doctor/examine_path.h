// Examines the device below a directory with a file that has no name: nothing is left behind, also if the
// process is killed.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "tools/doctor/device_facts.h"
#include "tools/doctor/device_figures.h"

namespace latchkey {

struct Examined {
  DeviceFacts facts;
  DeviceFigures figures;
  bool is_small = false;  ///< the file is smaller than asked for, because there is little space
};
/// `path` is a directory; the file takes at most half of the space that is free there.
/// InvalidArgument: no directory. PermissionDenied, ResourceExhausted, Unavailable: the system's
/// reason. Others: MeasureDevice.
absl::StatusOr<Examined> ExaminePath(const std::string& path, ExaminationPlan plan);

}  // namespace latchkey
