#include "tools/campaign/shared/campaign_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<CampaignDirectory>> CampaignDirectory::Make(std::string parent) {
  if (parent.empty()) {
    const char* base = std::getenv("TMPDIR");
    parent = base != nullptr ? base : std::filesystem::current_path().string();
  }
  std::string name = parent + "/latchkey_campaign_XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "no directory can be made in {}: {}; name another place", parent,
                      std::strerror(errno));
  }
  return std::unique_ptr<CampaignDirectory>(new CampaignDirectory(std::move(name)));
}

CampaignDirectory::~CampaignDirectory() {
  std::error_code ignored;
  if (keep_ && !std::filesystem::is_empty(path_, ignored)) return;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace latchkey
