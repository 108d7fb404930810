#include "tools/cli/progress.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>

namespace latchkey {

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Show(const std::string& text) {
  if (!on_terminal_) return;
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

void SetUpLogging() {
  spdlog::set_default_logger(spdlog::stderr_color_mt("latchkey"));
  spdlog::set_pattern("%H:%M:%S %^%l%$ %v");
}

}  // namespace latchkey
