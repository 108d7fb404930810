#include "tools/campaign/power/power_campaign.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::power_campaign_test {
namespace {

TEST_CASE("what was acknowledged is found after every loss of power on files") {
  if (kSanitizer) return;  // the campaign itself runs there
  TempDir dir;
  PowerFilesOptions options;
  options.directory = std::filesystem::canonical(dir.path()).string();
  options.layouts = {"overwrite", "lfs"};
  options.seeds = 1;
  options.lives = 2;
  options.states = 4;
  options.recovery_every = 30;
  options.recovery_states = 1;
  const PowerFilesReport report = RunPowerFiles(ThreadRuntime(), options);
  INFO(report.wrong);
  CHECK(report.wrong.empty());
  CHECK(report.stores == 2);
  CHECK(report.lives == 4);
  CHECK(report.states >= 2 * 4);
  CHECK(report.recovery_states >= 2);
  // The recorder works below all of them.
  CHECK(report.writes > 0);
  CHECK(report.sizes > 0);
  CHECK(report.syncs > 0);
  CHECK(report.names >= 2 * 5);  // the directory, three files, a rename
  CHECK(report.directory_syncs > 0);
}

}  // namespace
}  // namespace latchkey::power_campaign_test
