// How the command of a campaign begins: its flags, and a directory of its own; and what it took.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/campaign_directory.h"

namespace latchkey {

/// Fills what `app` was told of. The exit code when the command is over: help was asked for (0), or
/// a flag is wrong (2, and said so).
inline std::optional<int> ParseCampaignFlags(CLI::App& app,
                                             const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

/// As CampaignDirectory::Make; nullptr, and said why, when there is none.
inline std::unique_ptr<CampaignDirectory> MakeDirectoryOrSay(const std::string& parent) {
  absl::StatusOr<std::unique_ptr<CampaignDirectory>> directory = CampaignDirectory::Make(parent);
  if (directory.ok()) return *std::move(directory);
  fmt::print(stderr, "{}\n", std::string(directory.status().message()));
  return nullptr;
}

/// Processor time of this process and of its children that have ended.
inline double ProcessorSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    }
  }
  return seconds;
}

}  // namespace latchkey
