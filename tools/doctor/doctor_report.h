// An examination as text for readers and as JSON for programs.
#pragma once

#include <string>

#include "tools/doctor/diagnosis.h"
#include "tools/doctor/examine_path.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {

inline constexpr const char* kDoctorSchema = "latchkey.doctor/1";

/// Tables, findings and settings; lines of at most `width` columns unless a word is longer.
std::string DoctorText(const std::string& path, const Examined& examined,
                       const Diagnosis& diagnosis, size_t width);
/// What is not known is null. With the build and the machine.
Json DoctorJson(const std::string& path, const Examined& examined, const Diagnosis& diagnosis);

}  // namespace latchkey
