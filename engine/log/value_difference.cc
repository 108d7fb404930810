#include "engine/log/value_difference.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace latchkey {
namespace {

constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kPrefix = 2 * sizeof(uint16_t);

template <typename T>
T Load(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

uint64_t WordXor(std::string_view a, std::string_view b, size_t at) {
  return Load<uint64_t>(a, at) ^ Load<uint64_t>(b, at);
}

struct Prefix {
  uint16_t first = 0, second = 0;
};

// Takes the prefix of a run off `rest`. REQUIRES: `rest` holds one.
Prefix TakePrefix(std::string_view* rest) {
  const Prefix prefix{Load<uint16_t>(*rest, 0), Load<uint16_t>(*rest, sizeof(uint16_t))};
  rest->remove_prefix(kPrefix);
  return prefix;
}

void ApplyRuns(std::string_view runs, std::string* value) {
  char* at = value->data();
  while (!runs.empty()) {
    const Prefix run = TakePrefix(&runs);
    at += run.first;
    for (size_t i = 0; i < run.second; ++i) at[i] = static_cast<char>(at[i] ^ runs[i]);
    at += run.second;
    runs.remove_prefix(run.second);
  }
}

bool AreRunsSound(std::string_view runs, size_t size) {
  size_t covered = 0;
  while (!runs.empty()) {
    if (runs.size() < kPrefix) return false;
    const Prefix run = TakePrefix(&runs);
    if (runs.size() < run.second) return false;
    runs.remove_prefix(run.second);
    covered += size_t{run.first} + run.second;
  }
  return covered <= size;
}

// The middles of both values, and the lengths of the equal bytes around them.
struct Middles {
  size_t front = 0, back = 0;
  std::string_view now, before;
};
Middles MiddlesOf(const DifferenceView& difference) {
  std::string_view rest = difference.bytes;
  const Prefix equal = TakePrefix(&rest);
  const size_t now = difference.now_size - size_t{equal.first} - equal.second;
  return {equal.first, equal.second, rest.substr(0, now), rest.substr(now)};
}

// Turns a value of `size` bytes with the middle `from` into the other value.
bool Apply(const DifferenceView& difference, size_t size, std::string_view Middles::*from,
           std::string_view Middles::*to, std::string* value) {
  if (value->size() != size) return false;
  if (difference.now_size == difference.before_size) {
    ApplyRuns(difference.bytes, value);
  } else {
    const Middles middles = MiddlesOf(difference);
    value->replace(middles.front, (middles.*from).size(), middles.*to);
  }
  return true;
}

bool AreMiddlesSound(const DifferenceView& difference) {
  std::string_view rest = difference.bytes;
  if (rest.size() < kPrefix) return false;
  const Prefix equal = TakePrefix(&rest);
  const size_t both = size_t{equal.first} + equal.second;
  if (both > std::min(difference.now_size, difference.before_size)) return false;
  return rest.size() == difference.now_size - both + difference.before_size - both;
}

}  // namespace

ValueDifference::ValueDifference(std::string_view before, std::string_view now)
    : before_(before), now_(now) {
  if (is_same_size()) {
    FindRuns();
  } else {
    FindMiddles();
  }
}

// Compares whole words. A run ends at an equal word, and begins and ends with bytes that differ. If
// the room for runs is used up, the last run takes the rest.
void ValueDifference::FindRuns() {
  const size_t size = now_.size();
  const size_t words_end = size - size % kWord;
  size_t end = 0, at = 0;  // of the run before; where to look next
  const auto add = [&](size_t begin, size_t run_end) {
    if (count_ == kMaxRuns) {
      Run& last = runs_[count_ - 1];
      const size_t more = run_end - end;
      last.differ = static_cast<uint16_t>(last.differ + more);
      size_ += more;
    } else {
      runs_[count_++] = {static_cast<uint16_t>(begin - end),
                         static_cast<uint16_t>(run_end - begin)};
      size_ += kPrefix + run_end - begin;
    }
    end = run_end;
  };
  for (;;) {
    uint64_t differ = 0;
    while (at < words_end && (differ = WordXor(before_, now_, at)) == 0) at += kWord;
    if (at >= words_end) break;
    const size_t begin = at + static_cast<size_t>(std::countr_zero(differ)) / 8;
    uint64_t last = differ;
    for (at += kWord; at < words_end && (differ = WordXor(before_, now_, at)) != 0; at += kWord) {
      last = differ;
    }
    add(begin, at - static_cast<size_t>(std::countl_zero(last)) / 8);
  }
  // The bytes behind the last whole word.
  size_t begin = words_end, run_end = size;
  while (begin < run_end && before_[begin] == now_[begin]) ++begin;
  while (begin < run_end && before_[run_end - 1] == now_[run_end - 1]) --run_end;
  if (begin < run_end) add(begin, run_end);
}

void ValueDifference::FindMiddles() {
  const size_t most = std::min(now_.size(), before_.size());
  size_t front = 0, back = 0;
  while (front + kWord <= most && WordXor(before_, now_, front) == 0) front += kWord;
  while (front < most && before_[front] == now_[front]) ++front;
  const auto from_back = [&](std::string_view bytes, size_t n) { return bytes.size() - back - n; };
  while (front + back + kWord <= most && Load<uint64_t>(now_, from_back(now_, kWord)) ==
                                             Load<uint64_t>(before_, from_back(before_, kWord))) {
    back += kWord;
  }
  while (front + back < most && now_[from_back(now_, 1)] == before_[from_back(before_, 1)]) ++back;
  runs_[0] = {static_cast<uint16_t>(front), static_cast<uint16_t>(back)};
  count_ = 1;
  size_ = kPrefix + now_.size() + before_.size() - 2 * (front + back);
}

void ValueDifference::Encode(std::byte* to) const {
  const auto put = [&to](const void* from, size_t size) {
    if (size != 0) std::memcpy(to, from, size);
    to += size;
  };
  if (!is_same_size()) {
    const Run equal = runs_[0];
    put(&equal, sizeof(equal));
    const auto middle = [&](std::string_view value) {
      put(value.data() + equal.equal, value.size() - equal.equal - equal.differ);
    };
    middle(now_);
    middle(before_);
    return;
  }
  size_t at = 0;
  for (size_t i = 0; i < count_; ++i) {
    put(&runs_[i], sizeof(Run));
    at += runs_[i].equal;
    for (const size_t end = at + runs_[i].differ; at < end; ++at) {
      *to++ = static_cast<std::byte>(before_[at] ^ now_[at]);
    }
  }
}

bool IsSound(const DifferenceView& difference) {
  return difference.now_size == difference.before_size
             ? AreRunsSound(difference.bytes, difference.now_size)
             : AreMiddlesSound(difference);
}

bool ApplyForward(const DifferenceView& difference, std::string* value) {
  return Apply(difference, difference.before_size, &Middles::before, &Middles::now, value);
}

bool ApplyBackward(const DifferenceView& difference, std::string* value) {
  return Apply(difference, difference.now_size, &Middles::now, &Middles::before, value);
}

}  // namespace latchkey
