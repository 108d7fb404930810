#include "tools/campaign/shared/crash_subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/base/check.h"

namespace latchkey {

CrashMachine::CrashMachine(const std::vector<DiskImage>& images, uint64_t seed, bool record,
                           bool simulated, bool is_busy, uint64_t max_hand_overs) {
  SimulationOptions simulated_options{.seed = seed, .max_hand_overs = max_hand_overs};
  CrashRecorderOptions disk_options{
      .record = record, .capacity_limit_bytes = uint64_t{64} << 20, .seed = seed};
  if (is_busy) {
    simulated_options.preempt_probability = 0.02;
    disk_options.min_latency = 5 * kNanosPerMicro;
    disk_options.max_latency = 60 * kNanosPerMicro;
    disk_options.sync_latency = 30 * kNanosPerMicro;
  }
  if (simulated) simulation = std::make_unique<SimulatedRuntime>(simulated_options);
  disks = std::make_unique<CrashRecorder>(runtime(), disk_options);
  for (size_t i = 0; i < images.size(); ++i) disks->AddDisk(fmt::format("disk {}", i), images[i]);
}

absl::Status CrashMachine::RunInside(const std::function<absl::Status()>& body) {
  if (simulation == nullptr) return body();
  absl::Status status;
  const absl::Status ran = simulation->Run([&] { status = body(); });
  return ran.ok() ? status : ran;
}

void CommitOracle::Submit(uint64_t position, uint64_t fingerprint) {
  if (!steps_.empty()) position = std::max(position, steps_.back().submitted_at);
  steps_.push_back({position, fingerprint});
}

void CommitOracle::Acknowledge(uint64_t position, size_t steps) {
  LATCHKEY_CHECK(steps > 0 && steps <= steps_.size());
  if (!acknowledged_.empty()) {
    LATCHKEY_CHECK(acknowledged_.back().position <= position);
    steps = std::max(steps, acknowledged_.back().steps);
  }
  acknowledged_.push_back({position, steps});
}

size_t CommitOracle::Acknowledged(uint64_t position) const {
  const auto behind =
      std::upper_bound(acknowledged_.begin(), acknowledged_.end(), position,
                       [](uint64_t p, const Promise& promise) { return p < promise.position; });
  return behind == acknowledged_.begin() ? 0 : std::prev(behind)->steps;
}

size_t CommitOracle::Submitted(uint64_t position) const {
  const auto behind =
      std::upper_bound(steps_.begin(), steps_.end(), position,
                       [](uint64_t p, const Step& step) { return p < step.submitted_at; });
  return static_cast<size_t>(behind - steps_.begin());
}

bool CommitOracle::PromisedAt(uint64_t position) const {
  return std::binary_search(
      acknowledged_.begin(), acknowledged_.end(), Promise{position, 0},
      [](const Promise& a, const Promise& b) { return a.position < b.position; });
}

bool CommitOracle::Accepts(uint64_t position, uint64_t fingerprint) const {
  const size_t first = std::max<size_t>(Acknowledged(position), 1) - 1;
  for (size_t i = first; i < Submitted(position); ++i) {
    if (steps_[i].fingerprint == fingerprint) return true;
  }
  return false;
}

std::string CommitOracle::Explain(uint64_t position, uint64_t fingerprint) const {
  const size_t acknowledged = Acknowledged(position), submitted = Submitted(position);
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].fingerprint != fingerprint) continue;
    return fmt::format("recovered transaction {}, but {} were acknowledged and {} submitted", i,
                       acknowledged, submitted);
  }
  return fmt::format(
      "recovered contents that no prefix of the commits has ({} acknowledged, {} submitted)",
      acknowledged, submitted);
}

}  // namespace latchkey
