#include "tools/doctor/diagnosis.h"

#include <catch2/catch.hpp>

#include "engine/latchkey.h"

namespace latchkey::diagnosis_test {
namespace {

using Catch::Contains;
using Kind = SyncVerdict::Kind;

Timing Of(uint32_t depth, double per_second, double p50_us) {
  return {.depth = depth,
          .bytes = kExaminedPage,
          .requests = 100,
          .per_second = per_second,
          .p50_us = p50_us,
          .p99_us = 2 * p50_us};
}

/// An SSD whose flush takes longer than a write.
DeviceFigures Figures() {
  DeviceFigures figures;
  for (const uint32_t depth : kDepths) {
    figures.page_reads.push_back(Of(depth, 10'000 * std::min(depth, 16u), 100));
    figures.page_writes.push_back(Of(depth, 20'000, 50));
  }
  figures.sync_after_write = Of(1, 1000, 900);
  figures.empty_sync = Of(1, 1000, 10);
  figures.probe.costs = {.page_write_ns = 50'000,
                         .segment_write_ns = 10'000,
                         .segment_read_ns = 50'000,
                         .page_read_ns = 50'000,
                         .slot_read_ns = 10'000,
                         .protection_ns = 20'000,
                         .slots_per_segment = 64};
  figures.probe.segment_bytes = 256 << 10;
  return figures;
}

DeviceFacts Facts() {
  DeviceFacts facts{.direct_io = true, .description = "file", .mount = {}, .queue = {}};
  facts.mount = {"ext4", "/dev/sda1", "rw,relatime"};
  facts.queue = {.name = "sda", .rotational = false, .has_volatile_cache = true};
  return facts;
}

const AdvisedSetting* Find(const Diagnosis& diagnosis, std::string_view name) {
  for (const AdvisedSetting& setting : diagnosis.settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

TEST_CASE("A sync that takes longer than a write is likely durable, and never certainly") {
  const SyncVerdict verdict = JudgeSync(Facts(), Figures());
  CHECK(verdict.kind == Kind::kDurable);
  CHECK(verdict.certainty == "likely");
  CHECK_THAT(verdict.reason, Contains("Only a loss of power proves it"));
}

TEST_CASE("A sync faster than one command tells of a cache that is not flushed, if there is one") {
  DeviceFigures figures = Figures();
  figures.sync_after_write = Of(1, 500'000, 2);
  DeviceFacts facts = Facts();
  CHECK(JudgeSync(facts, figures).kind == Kind::kVolatile);
  CHECK(JudgeSync(facts, figures).certainty == "likely");
  facts.queue.has_volatile_cache = false;
  CHECK(JudgeSync(facts, figures).kind == Kind::kUnknown);
  CHECK_THAT(JudgeSync(facts, figures).reason, Contains("says that it has no volatile cache"));
  facts.queue.has_volatile_cache = std::nullopt;
  CHECK(JudgeSync(facts, figures).kind == Kind::kUnknown);
  CHECK(JudgeSync(facts, figures).certainty == "cannot be told");
}

TEST_CASE("A rotating disk that syncs within a fraction of a turn answers out of a cache") {
  DeviceFigures figures = Figures();
  DeviceFacts facts = Facts();
  facts.queue.rotational = true;
  for (Timing& read : figures.page_reads) read.p50_us = 8000;
  figures.page_writes.front().p50_us = 100;
  figures.sync_after_write = Of(1, 5000, 200);
  CHECK(JudgeSync(facts, figures).kind == Kind::kVolatile);
  CHECK_THAT(JudgeSync(facts, figures).reason, Contains("rotates"));
  // A virtual disk that claims to rotate, with reads too fast for that.
  figures.page_reads.front().p50_us = 100;
  CHECK(JudgeSync(facts, figures).kind == Kind::kDurable);
}

TEST_CASE("Memory and a mount without barriers are certainly volatile") {
  DeviceFacts facts = Facts();
  facts.mount.options = "rw,nobarrier";
  CHECK(JudgeSync(facts, Figures()).certainty == "certain");
  CHECK(JudgeSync(facts, Figures()).kind == Kind::kVolatile);
  facts.mount = {"tmpfs", "tmpfs", "rw"};
  CHECK(JudgeSync(facts, Figures()).kind == Kind::kVolatile);
  const Diagnosis diagnosis = Diagnose(facts, Figures());
  CHECK_THAT(Find(diagnosis, "durability")->reason, Contains("no setting makes commits survive"));
}

TEST_CASE("A refused O_DIRECT is a warning with the file system's name") {
  DeviceFacts facts = Facts();
  CHECK(Diagnose(facts, Figures()).findings.front().severity == Severity::kGood);
  facts.direct_io = false;
  const Finding finding = Diagnose(facts, Figures()).findings.front();
  CHECK(finding.severity == Severity::kWarning);
  CHECK_THAT(finding.text, Contains("(ext4)"));
  CHECK(JudgeSync(facts, Figures()).kind == Kind::kUnknown);
}

TEST_CASE("Every advised value is one that the option takes") {
  DeviceFigures slow = Figures(), appending = Figures();
  slow.sync_after_write = Of(1, 50, 20'000);
  appending.probe.costs.segment_write_ns = 1000;  // eta = 50
  DeviceFacts atomic = Facts();
  atomic.queue.atomic_write_bytes = 16'384;
  for (const Diagnosis& diagnosis : {Diagnose(Facts(), Figures()), Diagnose(Facts(), slow),
                                     Diagnose(Facts(), appending), Diagnose(atomic, Figures())}) {
    for (const AdvisedSetting& setting : diagnosis.settings) {
      CAPTURE(setting.name, setting.value);
      Options options;
      const std::string first = setting.value.substr(0, setting.value.find(','));
      CHECK(SetOption(setting.name, first, &options).ok());
      CHECK_FALSE(setting.reason.empty());
    }
  }
}

TEST_CASE("Slow syncs ask for a delay of group commits with room for a flush") {
  DeviceFigures figures = Figures();
  figures.sync_after_write = Of(1, 50, 20'000);  // 99 %: 40 ms
  const Diagnosis diagnosis = Diagnose(Facts(), figures);
  CHECK(Find(diagnosis, "group-commit-delay-ms")->value == "80");
  CHECK_THAT(Find(diagnosis, "durability")->reason, Contains("about 50 durable commits/s"));
  CHECK(Find(Diagnose(Facts(), Figures()), "group-commit-delay-ms") == nullptr);
}

TEST_CASE(
    "Appending is advised where a page alone costs more than ten times its share of a segment") {
  DeviceFigures figures = Figures();
  CHECK(Find(Diagnose(Facts(), figures), "layout")->value == "overwrite");
  figures.probe.costs.segment_write_ns = 1000;
  CHECK(Find(Diagnose(Facts(), figures), "layout")->value == "hylog");
  figures.probe.costs = {};
  CHECK(Find(Diagnose(Facts(), figures), "layout")->value == "overwrite");
}

TEST_CASE("Pages need no second copy only where the kernel promises whole ones") {
  DeviceFacts facts = Facts();
  CHECK(Find(Diagnose(facts, Figures()), "torn-write-protection")->value == "doublewrite");
  facts.queue.atomic_write_bytes = 512;
  CHECK(Find(Diagnose(facts, Figures()), "torn-write-protection")->value == "doublewrite");
  facts.queue.atomic_write_bytes = 4096;
  CHECK(Find(Diagnose(facts, Figures()), "torn-write-protection")->value == "none");
}

TEST_CASE("The depth of reads is that behind which little is gained") {
  CHECK_THAT(Diagnose(Facts(), Figures()).findings[1].text,
             Contains("16 page reads in flight are 16.0 times as fast"));
}

}  // namespace
}  // namespace latchkey::diagnosis_test
