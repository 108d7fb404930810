// MetricsPublisher: writes the metrics of a database to a file, once a second.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/latchkey.h"
#include "storage/base/log_sink.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The format of a file of metrics: JSON if its name ends in .json, else Prometheus's.
MetricsFormat MetricsFormatOf(const std::string& path);

/// A reader of the file finds the text of one moment: it is written beside and renamed.
class MetricsPublisher {
 public:
  /// Writes `text()` to `path` now and from then on once a second. An error, and nothing is left: the file
  /// cannot be written. If it cannot be written later on, `log_sink` gets one warning.
  static absl::StatusOr<std::unique_ptr<MetricsPublisher>> Start(Runtime& runtime, std::string path,
                                                                 std::function<std::string()> text,
                                                                 LogSink log_sink);
  /// Removes the file, after the last call of `text` has returned.
  ~MetricsPublisher();
  MetricsPublisher(const MetricsPublisher&) = delete;
  MetricsPublisher& operator=(const MetricsPublisher&) = delete;

 private:
  MetricsPublisher(Runtime& runtime, std::string path, std::function<std::string()> text,
                   LogSink log_sink);
  absl::Status Publish();
  void Run();

  Runtime& runtime_;
  const std::string path_, partial_;
  const std::function<std::string()> text_;
  const LogSink log_sink_;
  std::atomic<uint32_t> stop_{0};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
