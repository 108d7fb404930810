// The verb `experiment`: the figures and tables of the papers, run by the script tools/experiment.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace latchkey {

/// The script that belongs to the program `program` (its real path): tools/experiment in
/// ../share/latchkey beside the program's folder (an installation), otherwise in the first folder
/// above the program that has it (a build tree). nullopt: there is none.
std::optional<std::filesystem::path> FindExperimentScript(const std::filesystem::path& program);

/// Replaces this process by the script, with `arguments` and this program as the one it runs.
/// Returns an exit code only if that is not possible; then it has printed the reason.
int RunPaperExperiments(const std::vector<std::string>& arguments);

}  // namespace latchkey
