#include "tools/cli/doctor_command.h"

#include <cstdio>

#include "storage/base/status_macros.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/doctor/doctor_report.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostSeconds = 3600;

absl::Status Examine(const DoctorFlags& flags) {
  Progress progress;
  ExaminationPlan plan;
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t seconds,
                            ParseCount("seconds", flags.seconds, 1, kMostSeconds));
  LATCHKEY_ASSIGN_OR_RETURN(plan.bytes,
                            ParseBytes("size", flags.size, kLeastExamined, uint64_t{1} << 40));
  LATCHKEY_RETURN_IF_ERROR(CheckOutputFile("json", flags.json));
  plan.time = seconds * kNanosPerSecond;
  plan.stop = &StopRequested();
  plan.progress = [&progress](std::string_view what) { progress.Show(std::string(what)); };
  const absl::StatusOr<Examined> examined = ExaminePath(flags.path, std::move(plan));
  progress.Clear();
  LATCHKEY_RETURN_IF_ERROR(examined.status());
  const Diagnosis diagnosis = Diagnose(examined->facts, examined->figures);
  if (flags.json != "-") {
    const std::string text = DoctorText(flags.path, *examined, diagnosis, TableWidth());
    std::fputs(text.c_str(), stdout);
  }
  if (flags.json.empty()) return absl::OkStatus();
  return WriteTextFile(flags.json, JsonFileText(DoctorJson(flags.path, *examined, diagnosis)));
}

}  // namespace

int DoctorCommand(const DoctorFlags& flags) {
  const absl::Status status = Examine(flags);
  return status.ok() ? kExitOk : FailWith(status);
}

}  // namespace latchkey
