// Runs numbered cases in worker processes, so that a case that crashes or hangs is reported and the
// campaign goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/campaign/corruption/corruption_campaign.h"

namespace latchkey {

class CaseRunner {
 public:
  virtual ~CaseRunner() = default;
  virtual uint64_t cases() const = 0;
  /// The flags that repeat the case.
  virtual std::string Describe(uint64_t number) const = 0;
  /// Returns false after a mistake, with its description in *failure.
  virtual bool RunCase(uint64_t number, CorruptionTally* tally, std::string* failure) = 0;
};

/// Runs every case in `jobs` processes at a time (0: in this process); each process takes every
/// jobs-th case. A case that ends its process, or takes more than 60 s of processor time, is a
/// failure. Stops after about `max_failures`. REQUIRES, if jobs > 0: this process has one thread.
void RunCases(CaseRunner& runner, uint32_t jobs, uint32_t max_failures, CorruptionTally* tally,
              std::vector<std::string>* failures);

}  // namespace latchkey
