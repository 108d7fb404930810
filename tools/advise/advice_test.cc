#include "tools/advise/advice.h"

#include <catch2/catch.hpp>

#include "tools/advise/advise_report.h"
#include "tools/layout_model/model_disk.h"

namespace latchkey::advice_test {
namespace {

DevicePages Disk(double service_ms, double mb_s, uint64_t segment_bytes = 512 << 10) {
  DeviceSpec disk;
  disk.kind = DeviceSpec::Kind::kFixed;
  disk.service = static_cast<Nanos>(service_ms * kNanosPerMilli);
  disk.bytes_per_second = static_cast<uint64_t>(mb_s * 1e6);
  return {.page_bytes = 4096,
          .segment_bytes = segment_bytes,
          .costs = CostsOfDisk(disk, {.page_bytes = 4096, .segment_bytes = segment_bytes})->costs};
}

AdviceQuestion Question(const DevicePages& pages, std::vector<double> u_ds,
                        const char* distribution, double reads_per_write = 0) {
  return {.page_sizes = {pages},
          .space_utilizations = std::move(u_ds),
          .data_bytes = uint64_t{1} << 30,
          .reads_per_write = reads_per_write,
          .distribution = *ParseWriteDistribution(distribution)};
}

std::string BestOf(const AdviceQuestion& question) {
  const std::vector<Candidate> candidates = PredictAll(question);
  return FlagsOf(candidates[Choose(candidates).best], false);
}

Advice AdviceFor(const AdviceQuestion& question) {
  Advice advice;
  advice.workload = "uniform";
  advice.question = question;
  advice.candidates = PredictAll(question);
  advice.choice = Choose(advice.candidates);
  return advice;
}

Replay Replayed(const Advice& advice, size_t candidate, double predicted, double measured) {
  Replay replay;
  replay.candidate = advice.candidates[candidate];
  replay.predicted = predicted;
  replay.measured = measured;
  return replay;
}

TEST_CASE(
    "A disk that writes pages as fast as segments is advised to overwrite, in the fullest file") {
  // Reads are left out: in place there is nothing to read.
  CHECK(BestOf(Question(Disk(0.001, 60), {0.8, 0.9, 0.95}, "uniform")) ==
        "--layout=overwrite --space-utilization=0.95");
}

TEST_CASE("A disk with long seeks is advised to append if there is room to clean") {
  CHECK(BestOf(Question(Disk(8, 60), {0.7}, "uniform")) ==
        "--layout=lfs --space-utilization=0.7 --segment-cleaning=adaptive");
}

TEST_CASE("A full disk with skewed writes is advised to append the hot pages alone") {
  CHECK_THAT(BestOf(Question(Disk(1, 60, 256 << 10), {0.97}, "knuth:80:20")),
             Catch::StartsWith("--layout=hylog"));
}

TEST_CASE("If nearly all requests read, no layout gains enough, and overwriting is the simplest") {
  CHECK(BestOf(Question(Disk(8, 60), {0.8, 0.95}, "uniform", 100)) ==
        "--layout=overwrite --space-utilization=0.95");
}

TEST_CASE("Differences of up to 3 % count for nothing: the simpler layout, then the fuller file") {
  std::vector<Candidate> candidates(4);
  const std::span<const AdvisedWay> ways = AdvisedWays();
  candidates[0] = {.way = &ways[0], .space_utilization = 0.8, .pages = {}, .operation_us = 110};
  candidates[1] = {.way = &ways[1], .space_utilization = 0.8, .pages = {}, .operation_us = 100};
  candidates[2] = {.way = &ways[1], .space_utilization = 0.9, .pages = {}, .operation_us = 102};
  candidates[3] = {.way = &ways[7], .space_utilization = 0.9, .pages = {}, .operation_us = 99.5};
  const AdviceChoice choice = Choose(candidates);
  CHECK(choice.best == 2);
  CHECK(choice.fastest == 3);
  CHECK(choice.overwrite == 0);
  CHECK(choice.runner_up == 3);
  candidates[0].operation_us = 102;
  CHECK(Choose(candidates).best == 0);
}

TEST_CASE(
    "The u_d of the model is that of the file: the reserve counts, and least for large data") {
  const auto model = [](uint64_t pages) {
    return ModelUtilization(pages, 4096, 512 << 10, 0.9, uint64_t{16} << 20);
  };
  CHECK(model(20'000) < 0.8);
  CHECK(model(20'000) < model(200'000));
  CHECK(model(20'000'000) == Approx(0.9).margin(0.002));
}

TEST_CASE("Every prediction is relative to that of Overwrite with the same pages") {
  const Advice advice = AdviceFor(Question(Disk(8, 60), {0.8, 0.9}, "hotcold:90:10", 1.37));
  CHECK(advice.candidates.size() == 2 * AdvisedWays().size());
  const Candidate& overwrite = advice.candidates[0];
  for (const Candidate& candidate : advice.candidates) {
    INFO(FlagsOf(candidate, false));
    CHECK(candidate.relative ==
          Approx(overwrite.operation_us / candidate.operation_us).epsilon(1e-6));
    CHECK(candidate.operation_us > candidate.write_us);
  }
}

TEST_CASE(
    "The advice follows what was measured where the prediction is not confirmed, and says so") {
  Advice advice = AdviceFor(Question(Disk(8, 60), {0.8}, "uniform"));
  const AdviceChoice& choice = advice.choice;
  REQUIRE(advice.candidates[choice.best].way->layout == "lfs");
  CHECK(Advised(advice).way->layout == "lfs");
  advice.replays = {Replayed(advice, choice.overwrite, 1, 1),
                    Replayed(advice, choice.best, 3, 0.9)};
  CHECK(Advised(advice).way->layout == "overwrite");
  const std::string text = AdviceText(advice, 100);
  CHECK_THAT(text, Catch::Contains("advice: --layout=overwrite --space-utilization=0.8"));
  CHECK_THAT(text, Catch::Contains("* the prediction is 233 % too high"));
  CHECK_THAT(text, Catch::Contains("The model prefers lfs, but the replay does not confirm it"));
  // A measured gain within the tie does not outweigh simplicity.
  advice.replays[1].measured = 1.02;
  CHECK(Advised(advice).way->layout == "overwrite");
  CHECK_THAT(ReasonOf(advice), Catch::Contains("in the replay the two are within 3 %"));
  advice.replays[1].measured = 2.9;
  CHECK(Advised(advice).way->layout == "lfs");
  CHECK_THAT(ReasonOf(advice), Catch::Contains("on the replayed sample it is 2.9 times as fast"));
  CHECK_THAT(AdviceText(advice, 100), !Catch::Contains("*"));
}

TEST_CASE("No line of an advice is wider than it may be") {
  AdviceQuestion question = Question(Disk(8, 60), {0.8, 0.95}, "hotcold:90:10", 1.37);
  question.page_sizes.push_back(question.page_sizes[0]);
  question.page_sizes[1].page_bytes *= 2;
  Advice advice = AdviceFor(question);
  advice.replays = {Replayed(advice, advice.choice.overwrite, 1, 1),
                    Replayed(advice, advice.choice.best, 3, 0.9)};
  advice.notes = {"The page size of a database is fixed: another one needs dump and load."};
  for (const size_t width : {72, 80, 100}) {
    const std::string text = AdviceText(advice, width);
    for (size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
      const std::string line = text.substr(from, text.find('\n', from) - from);
      INFO(width << ": " << line);
      CHECK(line.size() <= width);
    }
  }
}

TEST_CASE("The document has each candidate and replay, and null for what is not known") {
  Advice advice = AdviceFor(Question(Disk(8, 60), {0.8}, "uniform"));
  advice.notes = {"a note"};
  Json json = AdviceJson(advice);
  CHECK(json["candidates"].size() == AdvisedWays().size());
  CHECK(json["candidates"][0]["segment_cleaning"].is_null());
  CHECK(json["candidates"][0]["hot_proportion"].is_null());
  CHECK(json["writes"].is_null());
  CHECK(json["replayed_pages"].is_null());
  CHECK(json["advised"]["measured"].is_null());
  CHECK(json["advised"]["flags"] == FlagsOf(Advised(advice), true));
  CHECK(json["notes"] == Json({"a note"}));
  advice.replays = {Replayed(advice, advice.choice.overwrite, 1, 1),
                    Replayed(advice, advice.choice.best, 3, 2)};
  advice.replays[1].not_steady = "the throughput still changes";
  json = AdviceJson(advice);
  CHECK(json["replays"].size() == 2);
  CHECK(json["replays"][0]["not_steady"].is_null());
  CHECK(json["replays"][1]["differs"] == true);
  CHECK(json["replays"][1]["not_steady"] == "the throughput still changes");
  CHECK(json["advised"]["measured"] == 2);
}

}  // namespace
}  // namespace latchkey::advice_test
