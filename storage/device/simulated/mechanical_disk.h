// MechanicalDisk: seek, rotation and transfer of one disk arm over rotating platters.
//
// Seek: the three-point curve of Lee and Katz ("An Analytic Performance Model of Disk Arrays",
// SIGMETRICS 1993), over d cylinders of C:
//   t(0) = 0;  t(d) = shortest + a * sqrt(d - 1) + b * (d - 1)
//   a = (-10 shortest + 15 mean - 5 longest) / (3 sqrt(C))
//   b = (7 shortest - 15 mean + 8 longest) / (3 C)
// Its mean over random pairs of cylinders is `mean`, its values for 1 and C cylinders are `shortest`
// and `longest`. The square root is the acceleration, the line the coasting of the arm, as Ruemmler
// and Wilkes measured them ("An Introduction to Disk Drive Modeling", IEEE Computer, March 1994).
//
// Rotation: the platters turn for ever; the position at time t is the same for every request. A
// request waits until its first byte comes by. So a request that follows the last one without a gap
// waits for nothing, and one that comes a moment too late waits for a revolution.
//
// Transfer: the sustained bandwidth, everywhere the same. Tracks are skewed so that the next track
// continues without a gap; the switches of heads and tracks are part of the sustained bandwidth.
//
// Not modelled: zones of different density, the track buffer (no reading ahead), the write cache
// (the thesis switches it off), the time of commands on the bus, longer settling before writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/device/simulated/disk_model.h"

namespace latchkey {

struct MechanicalDiskParameters {
  std::string_view name;
  double mean_seek_ms = 0;  ///< over random pairs of cylinders of the whole disk
  double rpm = 0;
  uint64_t bytes_per_second = 0;  ///< sustained
  uint32_t cylinders = 0;
  uint64_t capacity_bytes = 0;
  uint64_t stripe_bytes = 0;  ///< best unit of an array: 4 T_pos B, rounded to a power of two
  double printed_positioning_ms = 0;  ///< T_pos as table 6.2 prints it; 0: not in that table

  double revolution_ms() const { return 60'000 / rpm; }
  /// T_pos of the thesis: the mean seek and half a revolution.
  double positioning_ms() const { return mean_seek_ms + revolution_ms() / 2; }
};

/// The disks of the thesis, in the order of their years: rz26, atlas10k, cheetah-x15-36lp,
/// year2004, year2008.
std::span<const MechanicalDiskParameters> MechanicalDisks();
/// The one of that name; nullptr if there is none.
const MechanicalDiskParameters* FindMechanicalDisk(std::string_view name);

/// Immutable.
class SeekCurve {
 public:
  explicit SeekCurve(const MechanicalDiskParameters& disk);
  /// Milliseconds for `distance` cylinders.
  double Milliseconds(uint64_t distance) const;
  /// Mean over random pairs of places in the first `cylinders` cylinders. Takes a few microseconds
  /// per thousand cylinders.
  double MeanMilliseconds(uint64_t cylinders) const;

 private:
  double shortest_, root_, line_;
};

/// Not thread-safe.
class MechanicalDisk final : public DiskModel {
 public:
  /// `phase`, 0 to 1: where in a revolution the platters are at time 0. The disks of an array turn
  /// independently of each other.
  MechanicalDisk(const MechanicalDiskParameters& parameters, double phase);
  ServiceTime Serve(Nanos start, const DiskIo& io) override;
  uint64_t capacity_bytes() const override { return parameters_.capacity_bytes; }
  std::string Describe() const override;

 private:
  uint64_t CylinderOf(uint64_t offset) const;
  Nanos RotationAt(double when_ns, uint64_t offset) const;

  const MechanicalDiskParameters parameters_;
  const SeekCurve curve_;
  const double revolution_ns_, revolution_bytes_, phase_;
  uint64_t cylinder_ = 0;  // of the head
  uint64_t end_ = 0;       // of the last request
};

}  // namespace latchkey
