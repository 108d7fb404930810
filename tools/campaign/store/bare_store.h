// A page store without a log above it, as the subject of a crash campaign. No redo repairs what its
// map and its journal lose.
//
// One actor adds pages and flushes each before the next. Another actor writes checkpoints without
// pause. So the contents are always the first n pages, and a flush that has returned promises its
// page. With every third seed the data is on flash that forgets what was discarded.
#pragma once

#include <string>
#include <string_view>

#include "tools/campaign/shared/crash_subject.h"

namespace latchkey {

class BareStore final : public CrashSubject {
 public:
  static constexpr std::string_view kPrefix = "store:";

  BareStore(std::string layout, uint32_t pages) : layout_(std::move(layout)), pages_(pages) {}

  std::string name() const override { return std::string(kPrefix) + layout_; }
  uint32_t disks() const override { return 2; }
  bool is_simulated() const override { return true; }
  bool is_busy() const override { return true; }
  bool creation_survives_crashes() const override { return false; }
  bool syncs_when_opened() const override { return true; }
  absl::Status Run(uint64_t seed, CrashMachine& machine, CommitOracle& oracle) override;
  absl::StatusOr<uint64_t> Recover(uint64_t seed, CrashMachine& machine) override;

 private:
  const std::string layout_;
  const uint32_t pages_;
};

}  // namespace latchkey
