#include "tools/campaign/campaign_list.h"

#include "tools/campaign/backup_kills/backup_kill_campaign.h"
#include "tools/campaign/calls/calls_campaign.h"
#include "tools/campaign/canary/canary_campaign.h"
#include "tools/campaign/corruption/corruption_campaign.h"
#include "tools/campaign/crash/crash_command.h"
#include "tools/campaign/faults/fault_campaign.h"
#include "tools/campaign/isolation/isolation_campaign.h"
#include "tools/campaign/kills/kill_campaign.h"
#include "tools/campaign/model/model_campaign.h"
#include "tools/campaign/parts/parts_campaign.h"
#include "tools/campaign/power/power_campaign.h"
#include "tools/campaign/tpcc_crash/tpcc_crash.h"

namespace latchkey {

std::span<const Campaign> Campaigns() {
  static constexpr Campaign kCampaigns[] = {
      {"backup-kills", "kill -9 on backups of a used database and on restores, and what is left",
       RunBackupKillCampaign},
      {"calls", "random public calls with odd sizes on few keys, while disks fill up or fail",
       RunCallsCampaign},
      {"corruption", "one damage after the other in small databases: right data or a named error",
       RunCorruptionCommand},
      {"crash", "crashes at every event of a recorded run, and again in recovery", RunCrashCommand},
      {"faults", "the k-th call fails, once or from then on, in each phase of a database's life",
       RunFaultCommand},
      {"isolation", "concurrent transactions: commit-order replay and dependency cycles",
       RunIsolationCampaign},
      {"kills", "kill -9 on databases in files, and what is left", RunKillCampaign},
      {"model", "operation lists against an ordered map, over combinations of options",
       RunModelCampaign},
      {"parts", "rules of single parts that no run of a whole database shows to be broken",
       RunPartsCampaign},
      {"power-files", "power losses at every call on the files of a database, and its names",
       RunPowerFilesCampaign},
      {"tpcc-crash", "TPC-C-lite after kills and power losses", RunTpccCrashCampaign},
      {"canaries", "seeded bugs of the engine, each of which the campaigns must find",
       RunCanaryCampaign},
  };
  return kCampaigns;
}

}  // namespace latchkey
