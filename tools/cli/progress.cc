#include "tools/cli/progress.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

std::atomic<bool> is_quiet = false;

}  // namespace

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Show(const std::string& text) { ShowLines({text}); }

void Progress::ShowLines(const std::vector<std::string>& lines) {
  if (!on_terminal_ || is_quiet.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  ClearShown();
  // Of a line that wraps, ClearShown would clear the last part only.
  const size_t most = Columns() - 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::fprintf(stderr, "%s%s", i == 0 ? "" : "\n", CutText(lines[i], most).c_str());
  }
  std::fflush(stderr);
  shown_lines_ = lines.size();
}

size_t Progress::Columns() {
  constexpr size_t kUsual = 80;
  winsize window{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return known ? window.ws_col : kUsual;
}

void Progress::Clear() {
  MutexLock lock(mutex_);
  ClearShown();
}

// The cursor stands at the end of the last line: back to the begin of the first one, and clear from there.
void Progress::ClearShown() {
  if (shown_lines_ == 0) return;
  if (shown_lines_ > 1) std::fprintf(stderr, "\033[%zuA", shown_lines_ - 1);
  std::fputs("\r\033[J", stderr);
  shown_lines_ = 0;
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
