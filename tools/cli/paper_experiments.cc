#include "tools/cli/paper_experiments.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/cli/experiment.h"

namespace latchkey {
namespace {

constexpr const char* kScript = "tools/experiment";
constexpr const char* kInterpreter = "python3";

}  // namespace

std::optional<std::filesystem::path> FindExperimentScript(const std::filesystem::path& program) {
  const std::filesystem::path folder = program.parent_path();
  std::vector<std::filesystem::path> bases = {folder.parent_path() / "share/latchkey"};
  for (std::filesystem::path above = folder; above.has_relative_path();) {
    bases.push_back(above = above.parent_path());
  }
  for (const std::filesystem::path& base : bases) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(base / kScript, ignored)) return base / kScript;
  }
  return std::nullopt;
}

int RunPaperExperiments(const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::optional<std::filesystem::path> script = FindExperimentScript(program);
  if (!script) {
    return FailWith(absl::NotFoundError(
        "experiment: the script tools/experiment is neither above the program's folder nor in "
        "share/latchkey of an installation; run the program of a build tree or install it again"));
  }
  std::vector<std::string> words = {kInterpreter, script->string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (!arguments.empty() && arguments.front() == "run") {
    words.insert(words.begin() + 3, "--program=" + program.string());  // a later one replaces it
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(kInterpreter, argv.data());
  return FailWith(absl::UnavailableError(std::string("experiment needs ") + kInterpreter + ": " +
                                         std::strerror(errno)));
}

}  // namespace latchkey
