// --trace of `tpcc-lite run` and `bench`: the fixes of the measured part of a run, in a file.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/trace/fix_trace_writer.h"
#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {

/// InvalidArgument: a trace cannot be written to `path`. Leaves no file behind.
absl::Status CheckTraceFile(const std::string& path);

/// One recording. Outlives the backend, which may report fixes that began before End. A recording
/// that fails is logged; the run goes on. Not thread-safe.
class TraceRecording {
 public:
  TraceRecording(Runtime& runtime, std::string path, uint64_t limit)
      : runtime_(runtime), path_(std::move(path)), limit_(limit) {}

  void Begin(KvBackend& backend, const EngineSettings& settings);
  /// Ends the recording and writes how much work it covers, and what the pool counted meanwhile.
  /// Returns a warning for the run's row, or "".
  std::string End(KvBackend& backend, const KvStatistics& begin, const KvStatistics& end,
                  uint64_t done, std::string_view units);
  bool written() const { return written_; }

 private:
  Runtime& runtime_;
  const std::string path_;
  const uint64_t limit_;
  std::unique_ptr<FixTraceWriter> writer_;
  absl::Status begun_;
  bool written_ = false;
};

}  // namespace latchkey
