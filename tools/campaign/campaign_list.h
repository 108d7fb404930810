// The campaigns by name: one line each in campaign_list.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace latchkey {

/// A seeded search for mistakes with its own flags. `run` takes the flags of the command line and
/// prints its findings on stdout. It returns 0 (no mistake), 1 (a mistake, printed with the command
/// that repeats it) or 2 (usage).
struct Campaign {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Campaign> Campaigns();

}  // namespace latchkey
