#include "storage/device/simulated/mechanical_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace latchkey {
namespace {

// Thesis tables 6.2, 6.3 and 6.6. 1 MB/s is 10^6 bytes/s, as in the arithmetic of table 6.6
// (476 sectors * 512 bytes * 250 revolutions/s = 61 MB/s). The positioning time of the RZ26 is
// 9.8 + 5.56 = 15.36 ms here; table 6.2 rounds it to 15.0. Its capacity is 2599 cylinders * 14
// tracks * 58 sectors * 512 bytes. The cheetah's number of cylinders is that of the others.
constexpr MechanicalDiskParameters kDiskModels[] = {
    {"rz26", 9.8, 5400, 2'300'000, 2599, 1'080'468'480, 128 << 10, 15.0},
    {"atlas10k", 5.6, 10025, 20'400'000, 10042, 9'100'000'000, 512 << 10, 8.6},
    {"cheetah-x15-36lp", 3.6, 15000, 61'000'000, 10042, 36'700'000'000, 1024 << 10, 5.6},
    {"year2004", 3.6, 15000, 61'000'000, 10042, 18'000'000'000, 1024 << 10},
    {"year2008", 2.0, 24000, 198'000'000, 10042, 36'000'000'000, 2048 << 10},
};

// The ends of the seek curve as multiples of its mean. They are chosen for the atlas10k (1.2 and
// 10.8 ms; the thesis prints no curve) and scaled for the others, as the thesis scales its curve.
constexpr double kShortestPerMean = 1.2 / 5.6;
constexpr double kLongestPerMean = 10.8 / 5.6;

// A wait this short of a whole revolution is a rounding error of a request that follows at once.
constexpr double kRoundingNanos = 1000;

double Fraction(double x) { return x - std::floor(x); }

}  // namespace

std::span<const MechanicalDiskParameters> MechanicalDisks() { return kDiskModels; }

const MechanicalDiskParameters* FindMechanicalDisk(std::string_view name) {
  for (const MechanicalDiskParameters& disk : kDiskModels) {
    if (disk.name == name) return &disk;
  }
  return nullptr;
}

SeekCurve::SeekCurve(const MechanicalDiskParameters& disk) {
  const double mean = disk.mean_seek_ms, cylinders = disk.cylinders;
  const double longest = kLongestPerMean * mean;
  shortest_ = kShortestPerMean * mean;
  root_ = (-10 * shortest_ + 15 * mean - 5 * longest) / (3 * std::sqrt(cylinders));
  line_ = (7 * shortest_ - 15 * mean + 8 * longest) / (3 * cylinders);
}

double SeekCurve::Milliseconds(uint64_t distance) const {
  if (distance == 0) return 0;
  const auto beyond = static_cast<double>(distance - 1);
  return shortest_ + root_ * std::sqrt(beyond) + line_ * beyond;
}

double SeekCurve::MeanMilliseconds(uint64_t cylinders) const {
  double sum = 0;
  for (uint64_t d = 1; d < cylinders; ++d) {
    sum += 2 * static_cast<double>(cylinders - d) * Milliseconds(d);
  }
  const auto n = static_cast<double>(cylinders);
  return cylinders == 0 ? 0 : sum / (n * n);
}

MechanicalDisk::MechanicalDisk(const MechanicalDiskParameters& parameters, double phase)
    : parameters_(parameters),
      curve_(parameters),
      revolution_ns_(parameters.revolution_ms() * kNanosPerMilli),
      revolution_bytes_(static_cast<double>(parameters.bytes_per_second) * revolution_ns_ /
                        kNanosPerSecond),
      phase_(phase) {}

uint64_t MechanicalDisk::CylinderOf(uint64_t offset) const {
  const double place =
      static_cast<double>(offset) / static_cast<double>(parameters_.capacity_bytes);
  return std::min<uint64_t>(static_cast<uint64_t>(place * parameters_.cylinders),
                            parameters_.cylinders - 1);
}

Nanos MechanicalDisk::RotationAt(double when_ns, uint64_t offset) const {
  const double platter = Fraction(when_ns / revolution_ns_ + phase_);
  const double target = Fraction(static_cast<double>(offset) / revolution_bytes_);
  const double wait = Fraction(target - platter) * revolution_ns_;
  return wait > revolution_ns_ - kRoundingNanos ? 0 : static_cast<Nanos>(wait);
}

ServiceTime MechanicalDisk::Serve(Nanos start, const DiskIo& io) {
  const uint64_t cylinder = CylinderOf(io.offset);
  ServiceTime time;
  time.cylinders = cylinder > cylinder_ ? cylinder - cylinder_ : cylinder_ - cylinder;
  // Tracks are skewed: what continues the last request needs no seek of its own.
  const bool continues = io.offset == end_;
  time.seek = continues
                  ? 0
                  : static_cast<Nanos>(curve_.Milliseconds(time.cylinders) * kNanosPerMilli + 0.5);
  time.rotation = RotationAt(static_cast<double>(start + time.seek), io.offset);
  time.transfer = static_cast<Nanos>(static_cast<double>(io.length) * kNanosPerSecond /
                                         static_cast<double>(parameters_.bytes_per_second) +
                                     0.5);
  end_ = io.offset + io.length;
  cylinder_ = CylinderOf(end_ - 1);
  return time;
}

std::string MechanicalDisk::Describe() const {
  return fmt::format("{}: seek {} ms, {} rpm, {} MB/s", parameters_.name, parameters_.mean_seek_ms,
                     parameters_.rpm, static_cast<double>(parameters_.bytes_per_second) / 1e6);
}

}  // namespace latchkey
