#include "storage/wal/log_reservations.h"

namespace latchkey {
namespace {

// Time for the keeper to make room before the device grows beyond its usual size, and before a full
// log returns an error.
constexpr Nanos kPatienceBeforeGrowth = 50 * kNanosPerMilli;
constexpr Nanos kPatienceBeforeFailure = 5 * kNanosPerSecond;

}  // namespace

absl::Status LogReservations::Reserve(uint64_t bytes) {
  if (bytes > grower_.max_bytes()) return grower_.NoSpace(bytes);
  if (space_.TryTake(bytes, SpaceClaim::kNormal)) return absl::OkStatus();
  const Nanos begin = runtime_.Now();
  absl::Status made = MakeRoom(bytes);
  waits_.Note(Waited::kLogRoom, runtime_.Now() - begin, "for room in the log");
  return made;
}

absl::Status LogReservations::MakeRoom(uint64_t bytes) {
  const bool asks = watch_.kept() && !failure_.poisoned();
  const bool is_usual = grower_.device_bytes() < watch_.usual_bytes();
  uint64_t ticket = 0;
  if (asks && !is_usual) {
    ticket = watch_.Ask();
    if (AwaitRoom(bytes, ticket, kPatienceBeforeGrowth)) return absl::OkStatus();
  }
  const absl::Status grown = grower_.GrowAndTake(bytes, SpaceClaim::kNormal);
  if (!absl::IsResourceExhausted(grown) || !asks) return grown;
  if (ticket == 0) ticket = watch_.Ask();
  return AwaitRoom(bytes, ticket, kPatienceBeforeFailure) ? absl::OkStatus() : grown;
}

absl::Status LogReservations::ReserveUrgent(uint64_t bytes) {
  if (bytes > grower_.max_bytes()) return grower_.NoSpace(bytes);
  if (grower_.GrowAndTake(bytes, SpaceClaim::kNormal).ok()) return absl::OkStatus();
  return grower_.GrowAndTake(bytes, SpaceClaim::kUrgent);
}

// Waits for room and takes it. False after `patience`, or when the round of `ticket` is over.
bool LogReservations::AwaitRoom(uint64_t bytes, uint64_t ticket, Nanos patience) {
  const Nanos until = runtime_.Now() + patience;
  for (;;) {
    const uint32_t seen = watch_.news();
    const bool is_answered = watch_.IsAnswered(ticket);
    if (space_.TryTake(bytes, SpaceClaim::kNormal)) return true;
    const Nanos now = runtime_.Now();
    if (is_answered || now >= until) return false;
    watch_.AwaitNews(seen, until - now);
  }
}

}  // namespace latchkey
