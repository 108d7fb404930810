// A time series store whose samples expire. Each day has a tree of its own, so a whole day is dropped at once: that
// costs no delete per sample.
//
//   samples-DAY   (sensor, time in seconds) -> value
#include <cstdlib>
#include <iostream>

#include "example.h"

using latchkey::KeyReader;
using latchkey::KeyWriter;

constexpr uint64_t kDaySeconds = 86400;
constexpr std::string_view kTreePrefix = "samples-";

struct Sample {
  std::string sensor;
  uint64_t time = 0;  // seconds since 1970
  double value = 0;
};

class TimeSeries {
 public:
  explicit TimeSeries(latchkey::Database* db) : db_(db) {}

  // Stores all samples or none.
  absl::Status Write(const std::vector<Sample>& samples) {
    latchkey::WriteBatch batch;
    for (const Sample& sample : samples) {
      absl::StatusOr<latchkey::Tree> day = db_->OpenTree(TreeOfDay(sample.time / kDaySeconds));
      if (!day.ok()) return day.status();
      batch.Put(*day, KeyWriter().String(sample.sensor).UInt(sample.time).key(),
                KeyWriter().Double(sample.value).key());
    }
    return db_->Write(batch);
  }

  // The samples of a sensor from time `from` to before `to`, oldest first.
  absl::StatusOr<std::vector<Sample>> Read(const std::string& sensor, uint64_t from, uint64_t to) {
    std::vector<Sample> samples;
    latchkey::Transaction snapshot = db_->Begin({.read_only = true});
    for (uint64_t day = from / kDaySeconds; day * kDaySeconds < to; ++day) {
      absl::StatusOr<latchkey::Tree> tree = db_->OpenTree(TreeOfDay(day), /*create=*/false);
      if (absl::IsNotFound(tree.status())) continue;  // no sample on that day, or expired
      if (!tree.ok()) return tree.status();
      latchkey::Cursor row =
          snapshot.NewCursor(*tree, {.from = KeyWriter().String(sensor).UInt(from).key(),
                                     .to = KeyWriter().String(sensor).UInt(to).key()});
      for (row.SeekToFirst(); row.Valid(); row.Next()) {
        Sample sample;
        KeyReader key(row.key());
        if (absl::Status s = key.String(&sample.sensor); !s.ok()) return s;
        if (absl::Status s = key.UInt(&sample.time); !s.ok()) return s;
        if (absl::Status s = KeyReader(row.value()).Double(&sample.value); !s.ok()) return s;
        samples.push_back(std::move(sample));
      }
      if (!row.status().ok()) return row.status();
    }
    return samples;
  }

  // The newest sample of a sensor on the day of `time`. NotFound: there is none.
  absl::StatusOr<double> Newest(const std::string& sensor, uint64_t time) {
    absl::StatusOr<latchkey::Tree> tree =
        db_->OpenTree(TreeOfDay(time / kDaySeconds), /*create=*/false);
    if (!tree.ok()) return tree.status();
    latchkey::Transaction snapshot = db_->Begin({.read_only = true});
    latchkey::Cursor row =
        snapshot.NewCursor(*tree, latchkey::PrefixRange(KeyWriter().String(sensor).key()));
    row.SeekToLast();
    if (!row.status().ok()) return row.status();
    if (!row.Valid()) return absl::NotFoundError("the sensor has no sample on this day");
    double value = 0;
    if (absl::Status s = KeyReader(row.value()).Double(&value); !s.ok()) return s;
    return value;
  }

  // Drops the days that are over before `oldest`. Returns their number.
  absl::StatusOr<int> Expire(uint64_t oldest) {
    int dropped = 0;
    for (const std::string& name : db_->ListTrees()) {
      if (name.compare(0, kTreePrefix.size(), kTreePrefix) != 0) continue;
      const uint64_t day = std::strtoull(name.c_str() + kTreePrefix.size(), nullptr, 10);
      if ((day + 1) * kDaySeconds > oldest) continue;
      if (absl::Status s = db_->DropTree(name); !s.ok()) return s;
      ++dropped;
    }
    return dropped;
  }

 private:
  static std::string TreeOfDay(uint64_t day) {
    return std::string(kTreePrefix) + std::to_string(day);
  }

  latchkey::Database* db_;
};

int main(int argc, char** argv) {
  const auto db = OpenDatabase(argc, argv, "series.db");
  TimeSeries series(db.get());

  constexpr uint64_t kStart = 19000 * kDaySeconds;
  for (uint64_t hour = 0; hour < 7 * 24; ++hour) {  // a sample every hour, for a week
    const uint64_t time = kStart + hour * 3600;
    Check(
        series.Write({{"boiler", time, 60 + double(hour % 24)}, {"roof", time, double(hour) / 8}}));
  }

  // The range crosses midnight: it is in two trees.
  std::vector<Sample> night =
      ValueOf(series.Read("boiler", kStart + kDaySeconds - 7200, kStart + kDaySeconds + 7200));
  for (const Sample& sample : night) {
    std::cout << sample.sensor << " at hour " << (sample.time - kStart) / 3600 << ": "
              << sample.value << "\n";
  }

  int dropped = ValueOf(series.Expire(kStart + 4 * kDaySeconds));
  std::vector<Sample> left = ValueOf(series.Read("roof", kStart, kStart + 7 * kDaySeconds));
  std::cout << dropped << " days dropped, " << left.size() << " samples of the roof are left\n";
  double newest = ValueOf(series.Newest("roof", kStart + 6 * kDaySeconds));
  std::cout << "the newest is " << newest << "\n";
  Check(db->Close());
}
