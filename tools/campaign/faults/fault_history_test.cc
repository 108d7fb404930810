#include "tools/campaign/faults/fault_history.h"

#include <catch2/catch.hpp>

namespace latchkey::fault_history_test {
namespace {

std::vector<FaultStep> Put(const std::string& key) {
  return {{.kind = FaultStep::Kind::kPut, .tree = "t", .key = key, .value = "v"}};
}

FaultRecords With(const std::vector<std::string>& keys) {
  FaultRecords records;
  for (const std::string& key : keys) records["t"][key] = "v";
  return records;
}

TEST_CASE("A power loss leaves what was acknowledged before it, and perhaps what was in flight") {
  FaultHistory history(With({"old"}));
  const size_t a = history.Submit(10, Put("a"));
  history.Answer(a, 20, CommitAnswer::kDurable);
  const size_t refused = history.Submit(30, Put("refused"));
  history.Answer(refused, 40, CommitAnswer::kRefused);
  const size_t unknown = history.Submit(50, Put("unknown"));
  history.Answer(unknown, 60, CommitAnswer::kUnknown);

  const auto accepts = [&](uint64_t position, const std::vector<std::string>& keys) {
    return history.At(position).AcceptsAtOpen(With(keys));
  };
  CHECK(accepts(10, {"old"}));
  CHECK_FALSE(accepts(10, {"a", "old"}));
  CHECK(accepts(15, {"old"}));
  CHECK(accepts(15, {"a", "old"}));
  CHECK_FALSE(accepts(20, {"old"}));
  CHECK(accepts(35, {"a", "old"}));
  CHECK_FALSE(accepts(35, {"a", "old", "refused"}));
  for (const uint64_t position : {55, 60, 99}) {
    CHECK(accepts(position, {"a", "old"}));
    CHECK(accepts(position, {"a", "old", "unknown"}));
  }
}

TEST_CASE("A power loss may undo commits that were acknowledged for now, until they are promised") {
  FaultHistory history({});
  for (const char* key : {"a", "b"}) {
    history.Answer(history.Submit(10, Put(key)), 20, CommitAnswer::kForNow);
  }
  history.Promise(30);
  CHECK(history.At(29).AcceptsAtOpen({}));
  CHECK(history.At(29).AcceptsAtOpen(With({"a"})));
  CHECK_FALSE(history.At(29).AcceptsAtOpen(With({"b"})));
  CHECK_FALSE(history.At(30).AcceptsAtOpen(With({"a"})));
  CHECK(history.At(30).AcceptsAtOpen(With({"a", "b"})));
}

}  // namespace
}  // namespace latchkey::fault_history_test
