#include "tools/campaign/backup_kills/backup_kill_campaign.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "engine/testing/testing_database.h"
#include "tools/campaign/backup_kills/backup_child.h"
#include "tools/campaign/shared/kill_process.h"

namespace latchkey::backup_kill_campaign_test {
namespace {

TEST_CASE("after every kill the source is sound, and every backup that counts restores") {
  TempDir dir;
  BackupKillOptions options;
  options.directory = dir.path().string();
  options.kills = 8;
  options.kills_per_store = 4;
  options.max_run_ms = 40;
  const BackupKillReport report = RunBackupKills(ThreadRuntime(), options);
  INFO(report.wrong);
  CHECK(report.wrong.empty());
  CHECK(report.kills == 8);
  CHECK(report.sources_compared >= report.kills - report.in_restore);
}

// One store with a backup, and the oracle's numbers for it.
struct BackedUp {
  BackedUp() : kills(*Shared<KillNotes>::Make()), notes(*Shared<BackupNotes>::Make()) {
    notes->Reset();
    const auto db = OpenOrFail(dir.File("db"), {});
    const KillTrees trees = *OpenKillTrees(*db);
    KillThreadModel model(life.seed, 0);
    while (model.sequence() < 30 ||
           MakeKillTransaction(life.seed, 0, model.sequence() + 1).takes_ticket) {
      const uint64_t sequence = model.sequence() + 1;
      Transaction transaction = db->Begin();
      if (MakeKillTransaction(life.seed, 0, sequence).takes_ticket) {
        REQUIRE_OK(TakeTicket(transaction, trees.notes, 0, sequence));
      }
      REQUIRE_OK(transaction.Put(trees.notes, KillHeadKey(0), std::to_string(sequence)));
      REQUIRE_OK(transaction.Commit());
      model.AdvanceTo(sequence);
    }
    for (const auto& [key, value] : model.rows()) REQUIRE_OK(db->Put(trees.rows, key, value));
    REQUIRE_OK(db->Backup(life.directory).status());
    done = model.sequence();
    notes->finished.store(1);
    Promise(done);
  }
  void Promise(uint64_t sequence) {
    notes->backups[1].acknowledged[0].store(sequence);
    kills->threads[0].submitted.store(sequence);
  }
  int Run() {
    kills->has_message.store(false);
    return RunRestoreLife(life, *kills, *notes);
  }

  TempDir dir;
  RestoreLife life{.directory = dir.File("backups"), .copy = dir.File("copy"), .seed = 7};
  Shared<KillNotes> kills;
  Shared<BackupNotes> notes;
  uint64_t done = 0;
};

TEST_CASE("the comparison of a restored database accepts what was acknowledged, and no less") {
  BackedUp store;
  CHECK(store.Run() == 0);
  CHECK(store.notes->restored.load() == 1);
  CHECK_FALSE(std::filesystem::exists(store.life.copy));
  store.Promise(store.done + 1);
  CHECK(store.Run() == 1);
}

TEST_CASE("a backup that counts without one of its files, or that is gone, is a mistake") {
  BackedUp store;
  SECTION("a file is cut short") {
    std::filesystem::resize_file(store.life.directory + "/backup-0001-log.lkb", 4096);
  }
  SECTION("the call returned OK, and there is no backup") {
    std::filesystem::remove(store.life.directory + "/backup-0001.lkb");
  }
  SECTION("there are more backups than calls") {
    const auto db = OpenOrFail(store.dir.File("db"), {});
    for (int i = 0; i < 2; ++i) {
      BackupOptions more;
      more.incremental = true;
      REQUIRE_OK(db->Backup(store.life.directory, more).status());
    }
  }
  CHECK(store.Run() == 1);
}

TEST_CASE("what a killed restore leaves at its path must be a whole database") {
  BackedUp store;
  std::filesystem::create_directory(store.life.copy);
  std::ofstream(store.life.copy + "/data.lk") << "half of one";
  CHECK(store.Run() == 1);
}

}  // namespace
}  // namespace latchkey::backup_kill_campaign_test
