#include "engine/salvage/salvage.h"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>

#include "engine/testing/testing_database.h"
#include "layout/checkpoint/superblock.h"
#include "layout/geometry.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/page_format.h"

namespace latchkey::salvage_test {
namespace {

using Records = std::map<std::string, std::string>;
using Content = std::map<std::string, Records>;

constexpr uint32_t kPage = 4096;

Content ContentOf(Database& db) {
  Content content;
  for (const std::string& name : db.ListTrees()) {
    Records& records = content[name];
    Transaction transaction = db.Begin();
    Cursor cursor = transaction.NewCursor(TreeOrFail(db, name));
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
      records[std::string(cursor.key())] = std::string(cursor.value());
    }
    REQUIRE_OK(cursor.status());
  }
  return content;
}

/// Files of this process cannot grow beyond the limit.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

/// A closed database of one large tree (root, leaves), one small and one of large values.
class Patient {
 public:
  explicit Patient(const std::string& layout = "overwrite",
                   Durability durability = Durability::kNone) {
    Options options;
    options.techniques.layout = layout;
    options.durability = durability;
    const auto db = OpenOrFail(path(), options);
    Fill(*db);
    content = ContentOf(*db);
    REQUIRE_OK(db->Close());
  }

  std::string path() const { return dir_.File("db"); }
  std::string file() const { return path() + "/data.lk"; }
  std::string out() const { return dir_.File("out"); }

  /// Adds values of 1 MiB each.
  void AddLargeValues(int count) {
    const auto db = OpenOrFail(path(), Options{});
    const Tree values = TreeOrFail(*db, "values");
    for (int i = 0; i < count; ++i) {
      REQUIRE_OK(db->Put(values, "large" + std::to_string(i), std::string(1 << 20, 'l')));
    }
    content = ContentOf(*db);
    REQUIRE_OK(db->Close());
  }

  absl::StatusOr<SalvageReport> Save(bool without_proof = false) {
    SalvageOptions options;
    options.without_proof = without_proof;
    options.output.cache_bytes = 16 << 20;
    return Salvage(path(), out(), options);
  }
  Content Saved() {
    Options options;
    options.create_if_missing = false;
    const auto db = OpenOrFail(out(), options);
    REQUIRE_OK(db->Verify());
    return ContentOf(*db);
  }

  struct PagePlace {
    uint64_t offset, id;
    PageType type;
    int level;
    uint32_t sequence;
    bool newest = true;  ///< of the copies of its page
  };
  /// Every page in a slot of the file.
  std::vector<PagePlace> Pages() const {
    std::ifstream in(file(), std::ios::binary);
    std::vector<PagePlace> pages;
    std::vector<char> page(kPage);
    in.seekg(kHeaderAreaBytes);
    for (uint64_t at = kHeaderAreaBytes; in.read(page.data(), kPage); at += kPage) {
      PageHeader header;
      std::memcpy(&header, page.data(), sizeof(header));
      const auto type = static_cast<PageType>(header.page_type);
      if (type == PageType::kNone || type > PageType::kOverflow) continue;
      pages.push_back({at, header.page_id, type, page[60], header.write_sequence});
    }
    for (PagePlace& place : pages) {
      for (const PagePlace& other : pages) {
        if (other.id == place.id && other.sequence > place.sequence) place.newest = false;
      }
    }
    return pages;
  }
  void Overwrite(uint64_t offset, size_t size, char byte) const {
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(std::string(size, byte).data(), static_cast<std::streamsize>(size));
    REQUIRE(out.good());
  }
  void Damage(const PagePlace& page) const { Overwrite(page.offset + 2000, 64, '\x55'); }
  size_t DamageAll(const std::function<bool(const PagePlace&)>& which) const {
    size_t damaged = 0;
    for (const PagePlace& page : Pages()) {
      if (!which(page)) continue;
      Damage(page);
      ++damaged;
    }
    return damaged;
  }
  void WipeHeaderArea() const { Overwrite(0, kHeaderAreaBytes, '\0'); }

  Content content;

 private:
  static void Fill(Database& db) {
    Rng rng(5);
    const Tree large = TreeOrFail(db, "large"), small = TreeOrFail(db, "small"),
               values = TreeOrFail(db, "values");
    for (int i = 0; i < 4000; ++i) {
      REQUIRE_OK(db.Put(large, "key" + std::to_string(rng.Next()), std::string(40, 'v')));
    }
    for (int i = 0; i < 10; ++i) REQUIRE_OK(db.Put(small, std::to_string(i), "s"));
    for (int i = 0; i < 4; ++i) {
      REQUIRE_OK(db.Put(values, std::to_string(i), std::string(30'000 + i, 'a' + i)));
    }
  }

  TempDir dir_;
};

bool IsInner(const Patient::PagePlace& page) { return page.type == PageType::kTreeInner; }

/// Every record of `part` is one of `whole`.
bool IsPartOf(const Content& part, const Content& whole) {
  for (const auto& [name, records] : part) {
    const auto tree = whole.find(name);
    for (const auto& [key, value] : records) {
      if (tree == whole.end()) return false;
      const auto record = tree->second.find(key);
      if (record == tree->second.end() || record->second != value) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("salvaging a sound database copies all of it, in every layout") {
  for (const char* layout : {"overwrite", "lfs"}) {
    Patient patient(layout);
    const auto report = patient.Save();
    REQUIRE_OK(report.status());
    CHECK(report->whole());
    CHECK(report->superblock_found);
    CHECK(patient.Saved() == patient.content);
  }
}

TEST_CASE("salvage changes nothing in what it reads and does not write over a database") {
  Patient patient;
  std::ifstream before(patient.file(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(before)), {});
  REQUIRE_OK(patient.Save().status());
  std::ifstream after(patient.file(), std::ios::binary);
  CHECK(std::string((std::istreambuf_iterator<char>(after)), {}) == bytes);
  CHECK(absl::IsAlreadyExists(patient.Save().status()));
}

TEST_CASE("a superblock that fails its checksum still gives the database id away") {
  Patient patient;
  for (const uint64_t generation : {0, 1}) {
    for (const int copy : {0, 1}) {
      patient.Overwrite(SuperblockOffset(generation, copy) + 1000, 8, '\x55');
    }
  }
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->superblock_found);
  CHECK(report->proven);
  CHECK(report->catalog_found);
  CHECK(patient.Saved() == patient.content);
}

TEST_CASE("without any superblock the id is looked for in the other files") {
  Patient patient;
  std::ifstream in(patient.file(), std::ios::binary);
  std::string id(8, '\0');
  in.seekg(static_cast<std::streamoff>(SuperblockOffset(0, 0) + 32));
  in.read(id.data(), 8);
  if (id == std::string(8, '\0')) {
    in.seekg(static_cast<std::streamoff>(SuperblockOffset(1, 0) + 32));
    in.read(id.data(), 8);
  }
  patient.WipeHeaderArea();
  std::ofstream log(patient.path() + "/log.lk", std::ios::binary);
  log << std::string(4096, 'x') << id << std::string(4088, 'y');
  log.close();
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK(report->proven);
  CHECK(patient.Saved() == patient.content);
}

TEST_CASE("a logged database gives its id away in the files beside the pages") {
  for (const char* lost : {"/map.lk", "/log.lk"}) {
    if (kSanitizer && lost == std::string_view("/log.lk")) continue;
    Patient patient("hylog", Durability::kCommit);
    patient.WipeHeaderArea();
    REQUIRE(std::filesystem::remove(patient.path() + lost));
    const auto report = patient.Save();
    REQUIRE_OK(report.status());
    CHECK_FALSE(report->superblock_found);
    CHECK(report->proven);
    CHECK(patient.Saved() == patient.content);
  }
}

TEST_CASE("where nothing proves the pages they are taken by their looks, on request") {
  Patient patient;
  patient.WipeHeaderArea();
  for (const char* name : {"/log.lk", "/map.lk"}) {
    std::error_code ignored;
    std::filesystem::remove(patient.path() + name, ignored);
  }
  const auto refused = patient.Save();
  CHECK(absl::IsNotFound(refused.status()));
  CHECK(std::string(refused.status().message()).find("--without-proof") != std::string::npos);
  const auto report = patient.Save(/*without_proof=*/true);
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->proven);
  CHECK(patient.Saved() == patient.content);
}

TEST_CASE("a damaged leaf costs its own records and no others") {
  Patient patient;
  size_t leaves = 0;
  CHECK(patient.DamageAll([&](const Patient::PagePlace& page) {
    return page.newest && page.type == PageType::kTreeLeaf && page.id > 2 && ++leaves == 5;
  }) == 1);
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->whole());
  CHECK(report->pages.damaged == 1);
  const Content saved = patient.Saved();
  CHECK(IsPartOf(saved, patient.content));
  CHECK(saved.at("large").size() > patient.content.at("large").size() - 100);
  CHECK(saved.at("values") == patient.content.at("values"));
}

TEST_CASE("leaves below lost inner pages find their tree by their keys") {
  Patient patient;
  CHECK(patient.DamageAll(IsInner) >= 1);
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->whole());
  const Content saved = patient.Saved();
  CHECK(saved.at("large") == patient.content.at("large"));
  CHECK(saved.at("small") == patient.content.at("small"));
}

TEST_CASE("a damaged page of a large value costs that value alone") {
  Patient patient;
  size_t pages = 0;
  CHECK(patient.DamageAll([&](const Patient::PagePlace& page) {
    return page.newest && page.type == PageType::kOverflow && ++pages == 3;
  }) == 1);
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->whole());
  const Content saved = patient.Saved();
  CHECK(IsPartOf(saved, patient.content));
  CHECK(saved.at("values").size() == 3);
  CHECK(saved.at("large") == patient.content.at("large"));
}

TEST_CASE("without the catalogue trees are named after their roots") {
  Patient patient;
  CHECK(patient.DamageAll([](const Patient::PagePlace& page) { return page.id == 0; }) >= 1);
  const auto report = patient.Save();
  REQUIRE_OK(report.status());
  CHECK_FALSE(report->catalog_found);
  CHECK_FALSE(report->whole());
  std::multimap<size_t, Records> expected, saved;
  for (const auto& [name, records] : patient.content) expected.emplace(records.size(), records);
  for (const auto& [name, records] : patient.Saved()) {
    CHECK(name.find("lost+found/page-") == 0);
    saved.emplace(records.size(), records);
  }
  CHECK(saved == expected);
}

TEST_CASE("whatever is damaged, what is saved was there") {
  Rng rng(42);
  for (int round = 0; round < (kThreadSanitizer ? 2 : kSanitizer ? 4 : 12); ++round) {
    Patient patient(round % 2 == 0 ? "overwrite" : "lfs");
    patient.DamageAll(
        [&](const Patient::PagePlace& page) { return page.id != 0 && rng.Below(10) == 0; });
    const auto report = patient.Save();
    REQUIRE_OK(report.status());
    Content saved = patient.Saved();
    // Leaves that several trees could own keep their records under another name.
    saved.erase("lost+found/leaves");
    CHECK(IsPartOf(saved, patient.content));
  }
}

/// What a killed process leaves: committed records, most of them in the log alone, and a
/// transaction that never ended whose changes are in the log as well.
class Killed {
 public:
  explicit Killed(const std::string& layout) {
    Options options;
    options.durability = Durability::kCommit;
    options.techniques.layout = layout;
    const auto db = OpenOrFail(dir_.File("alive"), options);
    const Tree old_tree = TreeOrFail(*db, "old");
    Put(*db, old_tree, 300, "before");
    REQUIRE_OK(db->Checkpoint());
    const Tree new_tree = TreeOrFail(*db, "new");
    Transaction unfinished = db->Begin();
    REQUIRE_OK(unfinished.Put(old_tree, "key7", "never committed"));
    REQUIRE_OK(unfinished.Delete(old_tree, "key8"));
    REQUIRE_OK(unfinished.Put(new_tree, "nobody", "never committed"));
    Put(*db, new_tree, 400, "after");
    REQUIRE_OK(db->Put(new_tree, "large", std::string(30'000, 'l')));
    content = {{"old", Expected(300, "before")}, {"new", Expected(400, "after")}};
    content["new"]["large"] = std::string(30'000, 'l');
    std::filesystem::copy(dir_.File("alive"), path());
    REQUIRE_OK(unfinished.Rollback());
    REQUIRE_OK(db->Close());
  }

  std::string path() const { return dir_.File("killed"); }
  absl::StatusOr<SalvageReport> Save() {
    SalvageOptions options;
    options.output.durability = Durability::kNone;
    return Salvage(path(), dir_.File("out"), options);
  }
  Content Saved() {
    Options options;
    options.durability = Durability::kNone;
    const auto db = OpenOrFail(dir_.File("out"), options);
    return ContentOf(*db);
  }

  Content content;

 private:
  static Records Expected(int count, const std::string& value) {
    Records records;
    for (int i = 0; i < count; ++i) records["key" + std::to_string(i)] = value + std::to_string(i);
    return records;
  }
  // In one batch, so that the test does not wait for hundreds of syncs.
  static void Put(Database& db, Tree tree, int count, const std::string& value) {
    WriteBatch batch;
    for (const auto& [key, bytes] : Expected(count, value)) batch.Put(tree, key, bytes);
    REQUIRE_OK(db.Write(batch));
  }

  TempDir dir_;
};

TEST_CASE("salvage replays the log of a killed process and takes back what was not committed") {
  Killed killed("overwrite");
  const auto report = killed.Save();
  REQUIRE_OK(report.status());
  CHECK(report->log == LogUse::kReplayed);
  CHECK(report->log_changes > 0);
  CHECK(report->unfinished_changes == 3);
  CHECK(report->whole());
  CHECK(killed.Saved() == killed.content);
}

TEST_CASE("where the log is damaged salvage says that what was in it alone is missing") {
  Killed killed("overwrite");
  {
    std::fstream log(killed.path() + "/log.lk", std::ios::binary | std::ios::in | std::ios::out);
    log.seekp(8192 + 512 + 64);  // the first group of the first segment
    log.write("damage", 6);
    log.seekp(0);
    log.write("damage", 6);
    log.seekp(4096);
    log.write("damage", 6);
    REQUIRE(log.good());
  }
  const auto report = killed.Save();
  REQUIRE_OK(report.status());
  CHECK(report->log == LogUse::kUnreadable);
  CHECK_FALSE(report->log_error.empty());
  CHECK_FALSE(report->whole());
  CHECK(killed.Saved().at("old").size() >= 299);
}

// Salvage took a lost log for one that is not needed, and called its result whole.
TEST_CASE("where the log is needed and gone salvage says that what was in it alone is missing") {
  Killed killed("overwrite");
  std::filesystem::remove(killed.path() + "/log.lk");
  const auto report = killed.Save();
  REQUIRE_OK(report.status());
  CHECK(report->log == LogUse::kUnreadable);
  CHECK(report->log_error.find("log.lk") != std::string::npos);
  CHECK_FALSE(report->whole());
  CHECK(killed.Saved().at("old").size() >= 299);
}

// An interrupted salvage once left a database with some of the records. Verify called it sound.
TEST_CASE("a salvage that is cut short leaves nothing, wherever it stops") {
  Patient patient;
  patient.AddLargeValues(8);
  const auto check_nothing_left = [&] {
    CHECK_FALSE(std::filesystem::exists(patient.out()));
    CHECK_FALSE(std::filesystem::exists(patient.out() + ".salvaging"));
  };
  std::atomic<bool> stop = true;
  SalvageOptions options;
  options.stop = &stop;
  CHECK(absl::IsCancelled(Salvage(patient.path(), patient.out(), options).status()));
  check_nothing_left();
  {
    // The new database is made and cannot hold 8 MiB. A limit at half of a small file's size was
    // above what the records need when the file grew segment by segment.
    const FileSizeLimit limit(4 << 20);
    CHECK(absl::IsResourceExhausted(patient.Save().status()));
  }
  check_nothing_left();
  CHECK(absl::IsInvalidArgument(
      Salvage(patient.path(), patient.path() + "/inside", SalvageOptions{}).status()));
  // What a killed salvage left is itself the source: it must not be removed.
  const std::string left = patient.out() + ".salvaging";
  std::filesystem::create_directory(left);
  std::ofstream(left + "/lock.lkb") << "";
  std::filesystem::copy(patient.path(), left + "/db");
  CHECK(absl::IsInvalidArgument(Salvage(left + "/db", patient.out(), SalvageOptions{}).status()));
  CHECK(std::filesystem::exists(left + "/db/data.lk"));
  REQUIRE_OK(patient.Save().status());
  CHECK(patient.Saved() == patient.content);
}

// The rename at the end failed for some of these names, when all work was done.
TEST_CASE("salvage takes an empty directory, named by its path, with a dot, or by a link") {
  Patient patient;
  std::filesystem::create_directory(patient.out());
  std::string out = patient.out();
  SECTION("its path") {}
  SECTION("a path with a slash at its end") { out += "/"; }
  SECTION("a path with a dot at its end") { out += "/."; }
  SECTION("a link") {
    out += ".link";
    std::filesystem::create_directory_symlink(patient.out(), out);
  }
  REQUIRE_OK(Salvage(patient.path(), out, SalvageOptions{}).status());
  CHECK(patient.Saved() == patient.content);

  std::filesystem::create_symlink(patient.out() + ".none", patient.out() + ".dangling");
  CHECK(absl::IsFailedPrecondition(
      Salvage(patient.path(), patient.out() + ".dangling", SalvageOptions{}).status()));
}

TEST_CASE("what is no database is refused and nothing is made") {
  TempDir dir;
  CHECK(absl::IsNotFound(Salvage(dir.File("none"), dir.File("out"), {}).status()));
  CHECK(absl::IsInvalidArgument(Salvage("", dir.File("out"), {}).status()));
  std::filesystem::create_directory(dir.File("junk"));
  std::ofstream(dir.File("junk") + "/data.lk") << std::string(3 << 20, 'j');
  CHECK(absl::IsNotFound(Salvage(dir.File("junk"), dir.File("out"), {}).status()));
  CHECK_FALSE(std::filesystem::exists(dir.File("out")));
}

}  // namespace latchkey::salvage_test
