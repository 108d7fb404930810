// The directory of one run of a campaign.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace latchkey {

class CampaignDirectory {
 public:
  /// Makes a directory below `parent`. If `parent` is empty: below $TMPDIR, or else below the
  /// working directory. Unavailable: it cannot be made.
  static absl::StatusOr<std::unique_ptr<CampaignDirectory>> Make(std::string parent);
  /// Removes the directory and its content, unless Keep was called.
  ~CampaignDirectory();
  CampaignDirectory(const CampaignDirectory&) = delete;
  CampaignDirectory& operator=(const CampaignDirectory&) = delete;

  const std::string& path() const { return path_; }
  /// Keeps the directory as evidence of a mistake, if there is anything in it.
  void Keep() { keep_ = true; }

 private:
  explicit CampaignDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  bool keep_ = false;
};

}  // namespace latchkey
