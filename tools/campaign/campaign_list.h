// The campaigns by name: one line each in campaign_list.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace latchkey {

/// A seeded search for mistakes with its own flags. `run` takes them as given on the command line,
/// prints what it found on stdout, and returns 0 (nothing wrong), 1 (a mistake, with what repeats
/// it) or 2 (usage).
struct Campaign {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

std::span<const Campaign> Campaigns();

}  // namespace latchkey
