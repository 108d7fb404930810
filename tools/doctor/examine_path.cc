#include "tools/doctor/examine_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/file_errors.h"

namespace latchkey {
namespace {

absl::Status CheckDirectory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::OkStatus();
  return InvalidArgument(
      "{}: no folder{}; give an existing folder on the device, e.g. the one that will hold the "
      "database",
      path, error ? fmt::format(" ({})", error.message()) : "");
}

/// At most half of the free space.
absl::Status FitSpace(const std::string& path, ExaminationPlan* plan, bool* is_small) {
  std::error_code error;
  const uint64_t available = std::filesystem::space(path, error).available;
  if (error) return FileError("examine", path, error.value());
  if (available / 2 >= plan->bytes) return absl::OkStatus();
  plan->bytes = available / 2;
  *is_small = true;
  if (plan->bytes >= kLeastExamined) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{}: {} MiB are free; an examination needs {} MiB: free some space", path,
                    available >> 20, 2 * kLeastExamined >> 20);
}

}  // namespace

absl::StatusOr<Examined> ExaminePath(const std::string& path, ExaminationPlan plan) {
  LATCHKEY_RETURN_IF_ERROR(CheckDirectory(path));
  Examined examined;
  LATCHKEY_RETURN_IF_ERROR(FitSpace(path, &plan, &examined.is_small));
  Runtime& runtime = ThreadRuntime();
  const std::string file = fmt::format("{}/latchkey-doctor-{}.probe", path, getpid());
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<FileDevice> device,
      FileDevice::Open(runtime, file, {.creation = FileCreation::kMustBeNew}));
  if (unlink(file.c_str()) != 0) return FileError("remove", file, errno);
  examined.facts = ReadDeviceFacts(path);
  examined.facts.direct_io = device->direct_io();
  examined.facts.description = device->Describe();
  LATCHKEY_ASSIGN_OR_RETURN(examined.figures, MeasureDevice(runtime, *device, plan));
  return examined;
}

}  // namespace latchkey
