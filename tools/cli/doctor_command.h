// The verb doctor: what the device can do, whether it can be trusted, and the settings for it.
#pragma once

#include <string>

namespace latchkey {

struct DoctorFlags {
  std::string path;
  std::string seconds = "10";
  std::string size = "256MiB";  ///< most bytes of the file
  std::string json;
};
int DoctorCommand(const DoctorFlags& flags);

}  // namespace latchkey
