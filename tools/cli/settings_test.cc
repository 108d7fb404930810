#include "tools/cli/settings.h"

#include <catch2/catch.hpp>
#include <set>

#include "layout/testing/layouts_under_test.h"
#include "tools/cli/flags.h"
#include "tpcc-lite/kv/kv_backends.h"

namespace latchkey::settings_test {
namespace {

absl::StatusOr<TpccPlan> Plan(FlagTexts texts) {
  auto combinations = ExpandFlags(TpccFlags(), texts);
  if (!combinations.ok()) return combinations.status();
  return PlanTpcc(combinations->at(0));
}

std::string Refusal(FlagTexts texts) {
  const auto plan = Plan(std::move(texts));
  REQUIRE(absl::IsInvalidArgument(plan.status()));
  return std::string(plan.status().message());
}

TEST_CASE("The defaults of every verb are a plan") {
  CHECK(Plan({}).ok());
  const auto bench = ExpandFlags(BenchFlags(), {});
  REQUIRE(bench.ok());
  CHECK(PlanBench(bench->at(0)).ok());
}

TEST_CASE("An unknown engine is answered with the engines of this build") {
  const std::string refusal = Refusal({{"engine", "oracle"}});
  CHECK(refusal.find("oracle") != std::string::npos);
  CHECK(refusal.find("memory") != std::string::npos);
}

TEST_CASE("An engine that this build lacks is answered with the package and the option to get it") {
  CHECK(HowToBuildWith("oracle").empty());
  for (const auto& [engine, package] :
       {std::pair("rocksdb", "librocksdb-dev"), std::pair("lmdb", "liblmdb-dev"),
        std::pair("wiredtiger", "libwiredtiger-dev")}) {
    CAPTURE(engine);
    CHECK_THAT(HowToBuildWith(engine),
               Catch::Contains(package) && Catch::Contains("-DLATCHKEY_WITH_"));
    if (KvBackends().Find(engine) != nullptr) continue;
    CHECK_THAT(Refusal({{"engine", engine}}),
               Catch::Contains("not in this build") && Catch::Contains(package));
  }
}

TEST_CASE("Impossible settings are refused by the name of their flag") {
  const auto [flag, value] = GENERATE(table<std::string, std::string>({
      {"warehouses", "0"},
      {"warehouses", "-1"},
      {"cache-size", "-1"},
      {"cache-size", "1000000GiB"},
      {"page-size", "-4096"},
      {"transactions", "-1"},
      {"scale", "2"},
      {"users", "0"},
      {"device", "tape"},
      {"durability", "sync"},
      {"seed", "x"},
      {"duration", "0"},
  }));
  CAPTURE(flag, value);
  CHECK(Refusal({{flag, value}}).find(flag) != std::string::npos);
}

TEST_CASE("Durability is swept, loads are made without") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto commit = Plan({{"engine", "latchkey"}, {"durability", "commit"}});
  REQUIRE(commit.ok());
  CHECK(commit->settings.kv.durability == Durability::kCommit);
  CHECK(LoadOptionsOf(commit->settings.kv, "x").durability == Durability::kNone);
  CHECK(Plan({{"engine", "latchkey"}, {"durability", "group"}})->settings.kv.durability ==
        Durability::kGroup);
  CHECK(Plan({{"engine", "latchkey"}, {"durability", "none"}})->load_name == commit->load_name);
}

TEST_CASE("A durability that an engine does not have is refused with the reason, never another") {
  CHECK_THAT(Refusal({{"engine", "memory"}, {"durability", "none,commit"}}),
             Catch::Contains("memory keeps nothing") && Catch::Contains("give none,"));
  CHECK(Plan({{"engine", "memory"}, {"durability", "none"}}).ok());
  if (KvBackends().Find("lmdb") == nullptr) return;
  CHECK_THAT(Refusal({{"engine", "latchkey,lmdb"}, {"durability", "group"}}),
             Catch::Contains("lmdb has no log") && Catch::Contains("give none or commit"));
  const auto commit = Plan({{"engine", "lmdb"}, {"durability", "commit"}});
  REQUIRE(commit.ok());
  CHECK(commit->settings.kv.durability == Durability::kCommit);
}

TEST_CASE("A device that an engine does not have is refused when it was asked for") {
  CHECK_THAT(Refusal({{"engine", "memory"}, {"device", "file"}}),
             Catch::Contains("memory keeps everything in memory"));
  CHECK(Plan({{"engine", "memory"}}).ok());
  if (KvBackends().Find("lmdb") == nullptr) return;
  CHECK_THAT(Refusal({{"engine", "latchkey,lmdb"}, {"device", "memory"}}),
             Catch::Contains("lmdb keeps its files on a disk"));
}

TEST_CASE("A flag that no combination has is refused, and one that some have is not") {
  const auto refused = [](const char* flag, const char* value, FlagTexts others) {
    others[flag] = value;
    CAPTURE(flag);
    CHECK_THAT(Refusal(others), Catch::Contains("would be ignored") &&
                                    Catch::Contains(std::string("--") + flag + "=" + value));
  };
  for (const char* flag : {"layout", "replacement", "cleaners", "cache-size", "page-size"}) {
    refused(flag, "x", {{"engine", "memory"}});
  }
  refused("disks", "4", {});
  refused("cpu-us", "1", {});
  if (KvBackends().Find("latchkey") == nullptr) return;
  refused("torn-write-protection", "doublewrite", {{"engine", "latchkey"}, {"durability", "none"}});
  const FlagTexts both = {{"engine", "latchkey,memory"}, {"layout", "lfs"}, {"page-size", "8192"}};
  CHECK(ExpandFlags(TpccFlags(), both)->size() == 2);
  const FlagTexts skew = {{"workload", "read-uniform"}, {"zipf", "0.5"}};
  CHECK_THAT(std::string(ExpandFlags(BenchFlags(), skew).status().message()),
             Catch::Contains("--zipf=0.5 would be ignored"));
}

TEST_CASE("A policy is a replacement algorithm and a synchronization scheme, or neither is given") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto plan = Plan({{"engine", "latchkey"}, {"policy", "bufdistlock"}});
  REQUIRE(plan.ok());
  const Techniques& techniques = plan->settings.kv.techniques;
  CHECK(techniques.replacement == "lru");
  CHECK_THAT(techniques.synchronization, Catch::StartsWith("regions:n=64"));
  CHECK_THAT(Refusal({{"engine", "latchkey"}, {"policy", "pg2q"}, {"replacement", "lru"}}),
             Catch::Contains("--policy=pg2q and --replacement=lru") &&
                 Catch::Contains("either the policy or its parts"));
  const auto sweep = ExpandFlags(TpccFlags(), {{"engine", "latchkey"}, {"policy", "none,pg2q"}});
  REQUIRE(sweep.ok());
  CHECK(sweep->size() == 2);
}

TEST_CASE("A snapshot beside the run is swept, and refused where none can be held") {
  CHECK_THAT(Refusal({{"engine", "memory"}, {"snapshot", "idle"}}),
             Catch::Contains("--snapshot=idle would be ignored") && Catch::Contains("latchkey"));
  if (KvBackends().Find("latchkey") == nullptr) return;
  CHECK_THAT(Refusal({{"engine", "latchkey"}, {"snapshot", "long"}}),
             Catch::Contains("--snapshot=long") && Catch::Contains("none, idle, scan or both"));
  CHECK_THAT(Refusal({{"engine", "latchkey"}, {"device", "fixed"}, {"snapshot", "scan"}}),
             Catch::Contains("would be ignored") && Catch::Contains("--device=file or memory"));
  const auto sweep =
      ExpandFlags(TpccFlags(), {{"engine", "latchkey"}, {"snapshot", "none,idle,scan,both"}});
  REQUIRE(sweep.ok());
  REQUIRE(sweep->size() == 4);
  CHECK(DescribeSettings(PlanTpcc(sweep->at(3))->settings)["snapshot"] == "both");
  CHECK(DescribeSettings(Plan({{"engine", "memory"}})->settings)["snapshot"] == nullptr);
  const auto reopen = ExpandFlags(BenchFlags(), {{"engine", "latchkey"},
                                                 {"workload", "reopen"},
                                                 {"durability", "group"},
                                                 {"snapshot", "idle"}});
  CHECK_THAT(std::string(PlanBench(reopen->at(0)).status().message()),
             Catch::Contains("--snapshot=idle with --workload=reopen"));
}

TEST_CASE("A backup beside the run is swept, and refused where none can be made") {
  CHECK_THAT(Refusal({{"engine", "memory"}, {"backup", "full"}}),
             Catch::Contains("--backup=full would be ignored") && Catch::Contains("latchkey"));
  if (KvBackends().Find("latchkey") == nullptr) return;
  CHECK_THAT(Refusal({{"engine", "latchkey"}, {"durability", "commit"}, {"backup", "some"}}),
             Catch::Contains("--backup=some: give none or full"));
  CHECK_THAT(Refusal({{"engine", "latchkey"}, {"durability", "none"}, {"backup", "full"}}),
             Catch::Contains("would be ignored") && Catch::Contains("--durability=group"));
  CHECK_THAT(Refusal({{"engine", "latchkey"},
                      {"device", "memory"},
                      {"durability", "commit"},
                      {"backup", "full"}}),
             Catch::Contains("would be ignored") && Catch::Contains("--device=file"));
  const auto sweep = ExpandFlags(
      TpccFlags(), {{"engine", "latchkey"}, {"durability", "commit"}, {"backup", "none,full"}});
  REQUIRE(sweep.ok());
  REQUIRE(sweep->size() == 2);
  CHECK(DescribeSettings(PlanTpcc(sweep->at(1))->settings)["backup"] == "full");
  const auto reopen = ExpandFlags(BenchFlags(), {{"engine", "latchkey"},
                                                 {"workload", "reopen"},
                                                 {"durability", "group"},
                                                 {"backup", "full"}});
  CHECK_THAT(std::string(PlanBench(reopen->at(0)).status().message()),
             Catch::Contains("--backup=full with --workload=reopen"));
}

TEST_CASE("Every row says what protects it from torn writes, the rivals' too") {
  const auto protection = [](const char* engine, const char* durability) {
    return DescribeSettings(
        Plan({{"engine", engine}, {"durability", durability}})->settings)["torn_write_protection"];
  };
  CHECK(protection("memory", "none") == "none");
  if (KvBackends().Find("latchkey") != nullptr)
    CHECK(protection("latchkey", "commit") == "doublewrite");
  if (KvBackends().Find("rocksdb") != nullptr)
    CHECK(protection("rocksdb", "commit") == "append-only");
  if (KvBackends().Find("lmdb") != nullptr) CHECK(protection("lmdb", "commit") == "copy-on-write");
  if (KvBackends().Find("lmdb") != nullptr) CHECK(protection("lmdb", "none") == "none");
  if (KvBackends().Find("wiredtiger") != nullptr)
    CHECK(protection("wiredtiger", "group") == "copy-on-write");
}

TEST_CASE("Torn-write protection is swept like any technique, and images need a log") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto plain = Plan({{"engine", "latchkey"}, {"durability", "commit"}});
  const auto images =
      Plan({{"engine", "latchkey"}, {"durability", "commit"}, {"torn-write-protection", "images"}});
  REQUIRE(plain.ok());
  REQUIRE(images.ok());
  CHECK(DescribeSettings(plain->settings)["torn_write_protection"] == "doublewrite");
  CHECK(DescribeSettings(images->settings)["torn_write_protection"] == "images");
  CHECK(images->load_name == plain->load_name);
  CHECK(LoadOptionsOf(images->settings.kv, "x").torn_write_protection !=
        TornWriteProtection::kImages);
  CHECK(Refusal({{"engine", "latchkey"}, {"torn-write-protection", "images"}})
            .find("--durability=group or commit") != std::string::npos);
  const auto sweep =
      ExpandFlags(TpccFlags(), {{"engine", "latchkey"},
                                {"durability", "commit"},
                                {"torn-write-protection", "doublewrite,images,none"}});
  REQUIRE(sweep.ok());
  CHECK(sweep->size() == 3);
  CHECK_THAT(
      Refusal(
          {{"engine", "latchkey"}, {"durability", "commit"}, {"torn-write-protection", "journal"}}),
      Catch::Contains("doublewrite"));
}

// RocksDB once got no compression, whatever the flag said, because it has no techniques.
TEST_CASE("Page compression reaches every engine that has it, and is refused elsewhere") {
  if (CodecsUnderTest().empty()) return;
  const std::string codec = CodecsUnderTest().back();
  for (const char* engine : {"latchkey", "rocksdb"}) {
    if (KvBackends().Find(engine) == nullptr) continue;
    CAPTURE(engine);
    FlagTexts texts{{"engine", engine}, {"page-compression", codec}};
    if (std::string_view(engine) == "latchkey") texts["layout"] = "lfs";
    const auto plan = Plan(texts);
    REQUIRE(plan.ok());
    CHECK(plan->settings.kv.techniques.page_compression.starts_with(codec));
    CHECK(DescribeSettings(plan->settings)["page_compression"] ==
          plan->settings.kv.techniques.page_compression);
    texts["page-compression"] = "zip";
    CHECK_THAT(Refusal(texts), Catch::Contains("zip") && Catch::Contains(codec));
  }
  CHECK_THAT(Refusal({{"engine", "memory"}, {"page-compression", codec}}),
             Catch::Contains("--layout=lfs"));
  if (KvBackends().Find("latchkey") == nullptr) return;
  CHECK_THAT(
      Refusal({{"engine", "latchkey"}, {"layout", "overwrite"}, {"page-compression", codec}}),
      Catch::Contains("--layout=lfs"));
}

TEST_CASE("A technique's bad value is refused for an engine that has techniques") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto [flag, value, hint] = GENERATE(table<std::string, std::string, std::string>({
      {"layout", "btrfs", "hylog"},
      {"segment-cleaning", "mop", "greedy"},
      {"replacement", "mru", "clock"},
      {"synchronization", "prayer", "regions"},
      {"policy", "pg3q", "pgbat-pre"},
      {"policy", "mr-lru", "mr-lru:64"},
      {"fix", "pinned", "optimistic, latched"},
      {"page-in", "eager", "blocking, optimistic"},
      {"cleaner", "robot", "fixed"},
      {"space-utilization", "0.99", "0.98"},
      {"space-utilization", "0.4", "0.5"},
      {"page-size", "5000", "power of two"},
      {"page-size", "2048", "4096"},
      {"cache-size", "1KiB", "users"},
      {"cleaners", "129", "128"},
      {"cleaning-scope", "some", "coldest, all"},
      {"victims", "dirty-first", "clean-first"},
      {"eviction-batch", "65", "64"},
      {"segment-size", "5000", "give 65536 to 67108864 bytes"},
      {"segment-size", "70000", "give e.g. 69632, or auto"},
      {"cache-size", "1000000GiB", "memory"},
  }));
  CAPTURE(flag, value);
  CHECK(Refusal({{"engine", "latchkey"}, {flag, value}}).find(hint) != std::string::npos);
}

TEST_CASE("Simulated disks are named by one flag or two, and the row says that time is virtual") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto one = Plan({{"device", "fixed:service_ms=9:disks=11"}});
  const auto two = Plan({{"device", "fixed:service_ms=9"}, {"disks", "11"}});
  REQUIRE(one.ok());
  REQUIRE(two.ok());
  const Json row = DescribeSettings(two->settings);
  CHECK(row == DescribeSettings(one->settings));
  CHECK(row["device"] == "fixed:service_ms=9:mb_s=0:disks=11:stripe_kb=64:raid=raid0:queue=fcfs");
  CHECK(row["virtual_time"] == true);
  CHECK(row["cpu_us"] == 10);
  const auto raid5 = Plan({{"device", "atlas10k"}, {"disks", "5"}, {"raid", "raid5"}});
  REQUIRE(raid5.ok());
  CHECK(DescribeSettings(raid5->settings)["device"] ==
        "atlas10k:disks=5:stripe_kb=512:raid=raid5:queue=scan");
  CHECK(DescribeSettings(Plan({{"device", "flash"}})->settings)["virtual_time"] == true);
  const Json on_file = DescribeSettings(Plan({})->settings);
  CHECK(on_file["device"] == "file");
  CHECK(on_file["virtual_time"] == false);
  CHECK(on_file["cpu_us"].is_null());
}

TEST_CASE("Simulated disks that cannot be are refused") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto refusal = [](FlagTexts texts) {
    if (texts.count("device") == 0) texts["device"] = "fixed:service_ms=9";
    return Refusal(std::move(texts));
  };
  CHECK_THAT(refusal({{"device", "fixed:disks=2"}, {"disks", "3"}}), Catch::Contains("once"));
  CHECK_THAT(refusal({{"disks", "0"}}), Catch::Contains("--disks=0") && Catch::Contains("or auto"));
  CHECK_THAT(refusal({{"cpu-us", "-1"}}), Catch::Contains("--cpu-us=-1"));
  CHECK_THAT(refusal({{"device", "fixed:rpm=7200"}}), Catch::Contains("rpm"));
  CHECK_THAT(refusal({{"raid", "raid6"}}),
             Catch::Contains("--raid=raid6: ") && Catch::Contains("raid0, raid5, auto"));
  CHECK_THAT(refusal({{"raid", "raid5"}, {"disks", "2"}}), Catch::Contains("3 to 1024"));
  CHECK_THAT(refusal({{"device", "rz26:raid=raid0"}, {"raid", "raid5"}}), Catch::Contains("once"));
  CHECK_THAT(refusal({{"device", "flash"}, {"disks", "2"}}), Catch::Contains("would be ignored"));
  CHECK_THAT(refusal({{"engine", "memory"}}), Catch::Contains("memory cannot be simulated"));
  // All data in memory, and operations take no time: the run would never end.
  CHECK_THAT(refusal({{"cpu-us", "0"}}), Catch::Contains("--cpu-us=0"));
  CHECK(Plan({{"device", "fixed"}, {"cpu-us", "0"}, {"transactions", "10"}}).ok());
  CHECK(Plan({{"device", "fixed"}, {"cpu-us", "0"}, {"cache-size", "25%"}}).ok());
}

TEST_CASE("A reopen is measured where there is a log to recover from, in files") {
  const auto refusal = [](FlagTexts texts) {
    texts["workload"] = "reopen";
    const auto combinations = ExpandFlags(BenchFlags(), texts);
    REQUIRE(combinations.ok());
    return std::string(PlanBench(combinations->at(0)).status().message());
  };
  CHECK_THAT(refusal({{"engine", "memory"}}), Catch::Contains("memory does not tell"));
  if (KvBackends().Find("latchkey") == nullptr) return;
  CHECK_THAT(refusal({{"durability", "none"}}), Catch::Contains("--durability=group"));
  CHECK_THAT(refusal({{"durability", "group"}, {"device", "memory"}}),
             Catch::Contains("--device=file"));
  CHECK(refusal({{"durability", "group"}}).empty());
}

TEST_CASE("An engine without techniques runs once in a sweep over them") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto combinations = ExpandFlags(
      TpccFlags(),
      {{"engine", "latchkey,memory"}, {"layout", "lfs,hylog"}, {"cache-size", "512MiB,1GiB"}});
  REQUIRE(combinations.ok());
  REQUIRE(combinations->size() == 5);
  const auto plan = PlanTpcc(combinations->at(4));
  REQUIRE(plan.ok());
  const Json described = DescribeSettings(plan->settings);
  CHECK(described["layout"].is_null());
  CHECK(described["cache_bytes"].is_null());
  CHECK(described["device"] == "memory");
}

TEST_CASE("Combinations share a load exactly when nothing that shapes the file differs") {
  const auto name = [](FlagTexts texts) {
    texts["engine"] = "memory";
    return Plan(std::move(texts))->load_name;
  };
  const std::string plain = name({});
  CHECK(name({{"users", "8"}}) == plain);
  CHECK(name({{"duration", "60"}, {"warmup", "0"}}) == plain);
  const std::set<std::string> different = {plain, name({{"warehouses", "2"}}),
                                           name({{"scale", "0.1"}}), name({{"seed", "7"}})};
  CHECK(different.size() == 4);
}

TEST_CASE("A load's name tells layouts, utilisations and page sizes apart") {
  if (KvBackends().Find("latchkey") == nullptr) return;
  const auto combinations = ExpandFlags(TpccFlags(), {{"engine", "latchkey"},
                                                      {"layout", "overwrite,lfs,hylog"},
                                                      {"space-utilization", "0.8,0.9"},
                                                      {"page-size", "4096,16KiB"},
                                                      {"users", "1,2"}});
  REQUIRE(combinations.ok());
  std::set<std::string> names;
  for (const Combination& combination : *combinations) {
    names.insert(PlanTpcc(combination)->load_name);
  }
  CHECK(combinations->size() == 24);
  CHECK(names.size() == 12);
}

}  // namespace
}  // namespace latchkey::settings_test
