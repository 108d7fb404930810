// The corruption campaign damages an image and opens it. Every damage must give the right data or a
// named error, never wrong data, a crash, a hang or memory without bound (RELIABILITY.md 3.6).
//
// The verdict of a case:
//   right       the contents are those after every acknowledged commit
//   refused     DataLoss or FailedPrecondition, from the open, from Verify or while reading
//   last group  of an image that was not closed: the contents lack the commits of the last group of
//               the log and nothing else, and the damage lies wholly within that group; no reader
//               can tell this from a group whose write was never finished
//   older log   of an image that was not closed: an older or foreign piece has replaced so much of
//               the log that its newest group is nowhere whole, and nothing on the other disks
//               shows that the log was longer; an earlier crash would have left the same; the
//               contents are exactly those after the newest remaining group
//   wrong       anything else
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/campaign/corruption/corruption_damage.h"
#include "tools/campaign/corruption/corruption_image.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey {

enum class CaseVerdict : uint8_t { kRight, kRefused, kLastGroup, kOlderLog, kWrong };
inline constexpr size_t kCaseVerdicts = 5;

/// Judges the contents found of the damaged image. If kWrong, `why` gets the reason.
CaseVerdict JudgeCase(const CorruptionImage& image, const Damage& damage,
                      const absl::StatusOr<ImageContents>& found, std::string* why);

/// Counts of all cases: plain data, so that processes can share it.
struct CorruptionTally {
  uint64_t cases = 0;  ///< images opened, with one damage each
  std::array<uint64_t, kDamageKinds> by_kind{};
  std::array<uint64_t, kCaseVerdicts> by_verdict{};
  uint64_t reopened = 0;  ///< cases closed and opened once more
  /// Cases in which a page of the data file is an older, intact version of itself; and how many of
  /// these were refused. The others were right: the page was not needed.
  uint64_t stale = 0, stale_refused = 0;
  uint64_t reads = 0;  ///< pages read from below an open database, with one bit flipped each
  uint64_t reads_refused = 0;
  /// Reads that gave the right page, because the flipped bit of a compressed page says nothing.
  uint64_t reads_unharmed = 0;
  uint64_t most_memory_kib = 0;  ///< memory that one case added to the process

  void Add(const CorruptionTally& other);
  uint64_t of(CaseVerdict verdict) const { return by_verdict[static_cast<size_t>(verdict)]; }
  uint64_t of(DamageKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
};

struct CorruptionOptions {
  std::vector<std::string> layouts = LayoutItems();
  std::vector<ImageState> states{std::begin(kAllImageStates), std::end(kAllImageStates)};
  uint64_t first_seed = 1, seeds = 1;
  uint64_t cases = 0;  ///< sum over all images; 0: every damage
  uint64_t reads = 0;  ///< page reads, sum over all images
  uint32_t bits = 1;   ///< flipped per byte: 1 or 8
  uint32_t reopen_every = 16;
  /// Processes at a time. If a case kills its process, the campaign reports it and goes on with the
  /// next case. 0: all cases run in this process.
  uint32_t jobs = 0;
  uint32_t max_failures = 5;
};

struct CorruptionReport {
  uint64_t images = 0;
  CorruptionTally tally;
  std::vector<std::string> failures;  ///< with the flags that repeat them
};

CorruptionReport RunCorruptionCampaign(const CorruptionOptions& options);

/// Runs one case. Returns its verdict and a description.
CaseVerdict RunCorruptionCase(const CorruptionImage& image, const Damage& damage, bool reopen,
                              std::string* what);

/// Opens a database on the image, flips bits of its pages and reads them through the store, as a
/// fix does: at most `reads` of them, spread over all pages in use. Each read must return DataLoss.
/// *failure gets the first that does not.
void ReadDamagedPages(const CorruptionImage& image, uint64_t reads, CorruptionTally* tally,
                      std::string* failure);

/// The campaign `corruption`.
int RunCorruptionCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
