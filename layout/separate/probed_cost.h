// What probes of one kind of I/O say about its cost.
//
// One probe says little. On a disk its time depends on the way of the arm. On a file it depends on the
// other threads of the machine, which only add time. So the cost is the mean of the last probes of a
// device that tells service times, and the lower median of the last few of any other.
//
// A mean of many forgets slowly. So each block of kBlock probes is compared with the mean of those
// before it. If they differ by more than chance allows, the device has changed, and the older probes
// are forgotten. A change that chance may explain (a quarter, if four pages are a probe) is learned
// as the mean takes new probes in.
#pragma once

#include <array>
#include <cstdint>

namespace latchkey {

/// Not thread-safe.
class ProbedCost {
 public:
  static constexpr uint32_t kBlock = 8;
  static constexpr uint32_t kMostProbes = 256;  ///< that a mean counts, of equal size
  static constexpr uint32_t kMedianOf = 5;

  /// Forgets all probes: `ns` is known. It counts as a block of exact probes, and as one other probe.
  void Restart(double ns);
  /// Adds a probe, the mean of as many requests as any other one of this kind. `exact`: of service
  /// times.
  void Add(double ns, bool exact);
  /// REQUIRES: Restart or Add was called.
  double ns() const { return exact_ ? Mean() : Median(); }

 private:
  // Number, mean, and sum of squared distances from the mean.
  struct Moments {
    double count = 0, mean = 0, squares = 0;

    void Add(double value) { Add(Moments{.count = 1, .mean = value}); }
    void Add(const Moments& more);
    void KeepAtMost(double most);
  };

  bool IsOfAnotherDevice() const;
  double Mean() const;
  double Median() const;

  bool exact_ = false;
  bool is_new_device_ = false;  // since the last whole block
  Moments older_, block_;
  std::array<double, kMedianOf> last_{};  // the newest first
  uint32_t lasts_ = 0;
};

}  // namespace latchkey
