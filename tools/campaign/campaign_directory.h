// A directory of its own for one run of a campaign.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace latchkey {

class CampaignDirectory {
 public:
  /// Below `parent`; when that is empty, below $TMPDIR or else the working directory. Unavailable
  /// when it cannot be made.
  static absl::StatusOr<std::unique_ptr<CampaignDirectory>> Make(std::string parent);
  /// Removes it with what is in it, unless it is to be kept.
  ~CampaignDirectory();
  CampaignDirectory(const CampaignDirectory&) = delete;
  CampaignDirectory& operator=(const CampaignDirectory&) = delete;

  const std::string& path() const { return path_; }
  /// As evidence of a mistake.
  void Keep() { keep_ = true; }

 private:
  explicit CampaignDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  bool keep_ = false;
};

}  // namespace latchkey
