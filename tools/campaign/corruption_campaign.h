// The corruption campaign: every damage of an image opens as the right data or as a named error,
// never as wrong data, a crash, a hang or memory without bound (RELIABILITY.md 3.6).
//
// The rule. A case is
//   right       the contents are those after every acknowledged commit
//   refused     DataLoss or FailedPrecondition, from the open, from Verify or while reading
//   last group  of an image that was not closed: the contents lack the commits of the last group of
//               the log and nothing else, and the damage lies wholly within that group, which no
//               reader can tell from one that was never finished
//   older log   of an image that was not closed: so much of the log was replaced by an older or
//               another one that its newest group is nowhere whole any more, and nothing on the
//               other disks says that the log has been longer, which is what an earlier crash would
//               have left; the contents are those after the newest group that is left, exactly
//   wrong       anything else
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/campaign/corruption_damage.h"
#include "tools/campaign/corruption_image.h"

namespace latchkey {

enum class CaseVerdict : uint8_t { kRight, kRefused, kLastGroup, kOlderLog, kWrong };
inline constexpr size_t kCaseVerdicts = 5;

/// What was found of the image with this damage; `why` tells of kWrong.
CaseVerdict JudgeCase(const CorruptionImage& image, const Damage& damage,
                      const absl::StatusOr<ImageContents>& found, std::string* why);

/// Counts of what was done: plain data, so that processes can share it.
struct CorruptionTally {
  uint64_t cases = 0;  ///< images opened with one damage each
  std::array<uint64_t, kDamageKinds> by_kind{};
  std::array<uint64_t, kCaseVerdicts> by_verdict{};
  uint64_t reopened = 0;  ///< of them, closed and opened once more
  /// Of the cases, those in which a page of the data file is a sound, older version of itself; and
  /// how many of these were refused. The others were right: nothing that counts was lost.
  uint64_t stale = 0, stale_refused = 0;
  uint64_t reads = 0;  ///< pages read from below an open database, with one bit flipped each
  uint64_t reads_refused = 0;
  uint64_t most_memory_kib = 0;  ///< that one case added to the process

  void Add(const CorruptionTally& other);
  uint64_t of(CaseVerdict verdict) const { return by_verdict[static_cast<size_t>(verdict)]; }
  uint64_t of(DamageKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
};

struct CorruptionOptions {
  std::vector<std::string> layouts = {"overwrite", "lfs", "wolf", "hylog"};
  std::vector<ImageState> states{std::begin(kAllImageStates), std::end(kAllImageStates)};
  uint64_t first_seed = 1, seeds = 1;
  uint64_t cases = 0;  ///< of all images together; 0: every damage
  uint64_t reads = 0;  ///< page reads of all images together
  uint32_t bits = 1;   ///< of a byte: 1 or 8
  uint32_t reopen_every = 16;
  /// Processes at a time; a case that kills one is reported and the next goes on. 0: in this
  /// process.
  uint32_t jobs = 0;
  uint32_t max_failures = 5;
};

struct CorruptionReport {
  uint64_t images = 0;
  CorruptionTally tally;
  std::vector<std::string> failures;  ///< with the flags that repeat them
};

CorruptionReport RunCorruptionCampaign(const CorruptionOptions& options);

/// One case: its verdict, and what was found in words.
CaseVerdict RunCorruptionCase(const CorruptionImage& image, const Damage& damage, bool reopen,
                              std::string* what);

/// Flips bits of pages below a database that is open on the image and reads them through its store,
/// as a frame is filled: at most `reads` of them, spread over all pages in use. Each has to be
/// DataLoss; the first that is not is in *failure.
void ReadDamagedPages(const CorruptionImage& image, uint64_t reads, CorruptionTally* tally,
                      std::string* failure);

/// The verb.
int RunCorruptionCommand(const std::vector<std::string>& arguments);

}  // namespace latchkey
