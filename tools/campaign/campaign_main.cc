// latchkey_campaign NAME [flags]: runs one campaign. Without a name it lists them.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "storage/base/canary.h"
#include "tools/campaign/campaign_list.h"
#include "tools/campaign/canary/canary_hunt.h"
#include "tools/campaign/canary/canary_list.h"

namespace latchkey {
namespace {

// Checks the canary that the environment selects. A run with an unknown name would prove nothing.
bool CheckCanary(const char* canary) {
  if (canary == nullptr || *canary == '\0') return true;
  if (!kHasCanaries) {
    std::fprintf(stderr, "LATCHKEY_CANARY is set, but this program was built without canaries\n");
    return false;
  }
  if (FindCanary(canary) != nullptr) return true;
  std::fprintf(stderr, "no canary is called %s: latchkey_campaign canaries --list\n", canary);
  return false;
}

int Run(const Campaign& campaign, const std::vector<std::string>& arguments) {
  const char* canary = std::getenv("LATCHKEY_CANARY");
  if (!CheckCanary(canary)) return 2;
  const int result = campaign.run(arguments);
  if (canary == nullptr) return result;
  std::fflush(stdout);
  std::fputs(TellCanaryMet(canary, CanaryHits()).c_str(), stderr);
  return result;
}

}  // namespace
}  // namespace latchkey

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (const latchkey::Campaign& campaign : latchkey::Campaigns()) {
    if (arguments.empty() || arguments[0] != campaign.name) continue;
    return latchkey::Run(campaign, {arguments.begin() + 1, arguments.end()});
  }
  std::FILE* out = arguments.empty() ? stdout : stderr;
  if (!arguments.empty()) std::fprintf(out, "no campaign is called %s\n", arguments[0].c_str());
  std::fprintf(out, "latchkey_campaign NAME [flags]; NAME --help tells the flags\n");
  for (const latchkey::Campaign& campaign : latchkey::Campaigns()) {
    std::fprintf(out, "  %-12s %s\n", campaign.name, campaign.summary);
  }
  return arguments.empty() ? 0 : 2;
}
