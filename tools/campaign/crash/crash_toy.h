// ToyStore as the subject of a crash campaign.
#pragma once

#include <string>

#include "tools/campaign/crash/toy_store.h"
#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

class ToySubject final : public CrashSubject {
 public:
  explicit ToySubject(ToyBug bug, uint32_t transactions = 60)
      : bug_(bug), transactions_(transactions) {}

  std::string name() const override { return "toy"; }
  uint32_t disks() const override { return 2; }
  bool is_simulated() const override { return false; }
  absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) override;
  absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) override;

 private:
  const ToyBug bug_;
  const uint32_t transactions_;
};

}  // namespace latchkey
