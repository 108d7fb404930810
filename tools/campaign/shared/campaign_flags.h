// Helpers for the command of a campaign: parse its flags, make its directory, measure its time.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/campaign/shared/campaign_directory.h"

namespace latchkey {

/// Parses the flags that `app` declares. Returns an exit code if the command ends here: 0 after
/// --help, 2 after a wrong flag, which is reported on stderr.
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

/// CampaignDirectory::Make. nullptr: it failed, and the reason was printed.
inline std::unique_ptr<CampaignDirectory> MakeDirectoryOrSay(const std::string& parent) {
  absl::StatusOr<std::unique_ptr<CampaignDirectory>> directory = CampaignDirectory::Make(parent);
  if (directory.ok()) return *std::move(directory);
  fmt::print(stderr, "{}\n", std::string(directory.status().message()));
  return nullptr;
}

/// Processor time of this process and of its ended children, seconds.
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
