// From facts and figures of a device to findings and settings, each with its reason. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/device_facts.h"
#include "tools/doctor/device_figures.h"

namespace latchkey {

enum class Severity { kGood, kNote, kWarning };

struct Finding {
  Severity severity = Severity::kNote;
  std::string text;
};

/// Whether a sync makes data durable, as far as one can tell without a loss of power.
struct SyncVerdict {
  enum class Kind {
    kDurable,   ///< nothing contradicts it
    kVolatile,  ///< it does not
    kUnknown,   ///< nothing can be told
  };
  Kind kind = Kind::kUnknown;
  std::string_view certainty;  ///< "certain", "likely", "cannot be told"
  std::string reason;
};
SyncVerdict JudgeSync(const DeviceFacts& facts, const DeviceFigures& figures);

/// A setting by the name of its option.
struct AdvisedSetting {
  std::string_view name;
  std::string value;
  std::string reason;
};

struct Diagnosis {
  SyncVerdict sync;
  std::vector<Finding> findings;
  std::vector<AdvisedSetting> settings;
};
Diagnosis Diagnose(const DeviceFacts& facts, const DeviceFigures& figures);

}  // namespace latchkey
