#include "engine/watch/metrics_publisher.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status Failure(std::string_view what, const std::string& path, int error) {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "the metrics: cannot {} \"{}\": {}; give another metrics_path", what, path,
                    std::generic_category().message(error));
}

}  // namespace

MetricsFormat MetricsFormatOf(const std::string& path) {
  return path.ends_with(".json") ? MetricsFormat::kJson : MetricsFormat::kPrometheus;
}

MetricsPublisher::MetricsPublisher(Runtime& runtime, std::string path,
                                   std::function<std::string()> text, LogSink log_sink)
    : runtime_(runtime),
      path_(std::move(path)),
      partial_(path_ + ".partial"),
      text_(std::move(text)),
      log_sink_(std::move(log_sink)) {}

absl::StatusOr<std::unique_ptr<MetricsPublisher>> MetricsPublisher::Start(
    Runtime& runtime, std::string path, std::function<std::string()> text, LogSink log_sink) {
  std::unique_ptr<MetricsPublisher> publisher(
      new MetricsPublisher(runtime, std::move(path), std::move(text), std::move(log_sink)));
  LATCHKEY_RETURN_IF_ERROR(publisher->Publish());
  MetricsPublisher* const self = publisher.get();
  self->actor_ = runtime.Spawn("metrics", [self] { self->Run(); });
  return publisher;
}

MetricsPublisher::~MetricsPublisher() {
  if (actor_ == nullptr) return;
  stop_.store(1, std::memory_order_release);
  runtime_.Wake(stop_, UINT32_MAX);
  actor_->Join();
  std::remove(path_.c_str());
}

absl::Status MetricsPublisher::Publish() {
  const std::string text = text_();
  std::FILE* const file = std::fopen(partial_.c_str(), "we");
  if (file == nullptr) return Failure("create", partial_, errno);
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int write_error = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (!is_written || !is_closed) {
    const int error = is_written ? errno : write_error;
    std::remove(partial_.c_str());
    return Failure("write", partial_, error);
  }
  if (std::rename(partial_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  std::remove(partial_.c_str());
  return Failure("replace", path_, error);
}

void MetricsPublisher::Run() {
  bool has_warned = false;
  while (stop_.load(std::memory_order_acquire) == 0) {
    runtime_.WaitOnWord(stop_, 0, kNanosPerSecond);
    if (stop_.load(std::memory_order_acquire) != 0) return;
    const absl::Status published = CatchOutOfMemory([this] { return Publish(); });
    if (!published.ok() && !has_warned) {
      CatchOutOfMemory([&] {
        LogTo(log_sink_, LogLevel::kWarning, std::string(published.message()));
        return absl::OkStatus();
      }).IgnoreError();
    }
    has_warned = !published.ok();
  }
}

}  // namespace latchkey
