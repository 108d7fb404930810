// Runs numbered cases in processes of their own, so that one that crashes or hangs is a finding
// and not the end of the campaign.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/campaign/corruption_campaign.h"

namespace latchkey {

class CaseRunner {
 public:
  virtual ~CaseRunner() = default;
  virtual uint64_t cases() const = 0;
  /// What repeats the case.
  virtual std::string Describe(uint64_t number) const = 0;
  /// False: a mistake, told in *failure.
  virtual bool RunCase(uint64_t number, CorruptionTally* tally, std::string* failure) = 0;
};

/// Runs every case, `jobs` processes at a time (0: in this one), each with every jobs-th case. A
/// case that ends its process, or takes more than a minute of processor time, is a failure. Stops
/// behind about `max_failures`. REQUIRES, with jobs > 0: the process has one thread.
void RunCases(CaseRunner& runner, uint32_t jobs, uint32_t max_failures, CorruptionTally* tally,
              std::vector<std::string>* failures);

}  // namespace latchkey
