// A replacement algorithm whose calls take simulated processor time. A synchronization scheme runs
// it as it runs the algorithm itself, so the time passes where the scheme calls it: under its lock.
#pragma once

#include <memory>
#include <span>

#include "bufferpool/replacement/replacement_list.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Turns costs, which have fractions, into charges of whole nanoseconds with the same sum.
class Charger {
 public:
  explicit Charger(Runtime& runtime) : runtime_(runtime) {}
  void Charge(double nanoseconds) {
    owed_ += nanoseconds;
    const auto whole = static_cast<Nanos>(owed_);
    owed_ -= static_cast<double>(whole);
    runtime_.Charge(whole);
  }

 private:
  Runtime& runtime_;
  double owed_ = 0;
};

/// What the calls of an algorithm cost, in ns.
struct CallCosts {
  double hit, load;       ///< an OnHit; an OnLoad and a Victim, half each
  double moved;           ///< more for an OnHit or OnLoad after a call of another actor
  double moved_load;      ///< more for a Victim after a call of another actor
  double moved_in_batch;  ///< more for each of the OnHits of that actor that follow it at once
};

/// Makes algorithms that charge. They do not outlive it.
class ChargingReplacement {
 public:
  /// REQUIRES: no other ChargingReplacement exists in the process.
  ChargingReplacement(Runtime& runtime, const ReplacementChoice& inner, const CallCosts& costs);
  ~ChargingReplacement();
  ChargingReplacement(const ChargingReplacement&) = delete;
  ChargingReplacement& operator=(const ChargingReplacement&) = delete;

  /// Under the same name and with the same parameters as the inner algorithm.
  const ReplacementChoice& choice() const { return choice_; }
  /// Until the call nothing is charged.
  void Start() { started_ = true; }

 private:
  class Algorithm;

  static std::unique_ptr<ReplacementAlgorithm> Make(const ReplacementConfig& config,
                                                    std::span<const double> parameters);

  Runtime& runtime_;
  const ReplacementChoice& inner_;
  const CallCosts costs_;
  bool started_ = false;
  const ReplacementInfo info_;
  const Registry<ReplacementInfo> registry_;
  const ReplacementChoice choice_;
};

}  // namespace latchkey
