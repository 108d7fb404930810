#include "tools/cli/progress.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace latchkey {
namespace {

std::atomic<bool> is_quiet = false;

}  // namespace

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Show(const std::string& text) {
  if (!on_terminal_ || is_quiet.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  MutexLock lock(mutex_);
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void BeQuiet() {
  is_quiet = true;
  spdlog::set_level(spdlog::level::err);
}

void SetUpLogging() {
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: set and not empty
  const bool plain = no_color != nullptr && *no_color != '\0';
  spdlog::set_default_logger(spdlog::stderr_color_mt(
      "latchkey", plain ? spdlog::color_mode::never : spdlog::color_mode::automatic));
  spdlog::set_pattern("%H:%M:%S %^%l%$ %v");
}

}  // namespace latchkey
