// The functions of Abseil that the engine calls, compiled into liblatchkey.so: those of absl::Status and three
// of the hash tables. Debian's archives of Abseil cannot be linked into a shared library: they are
// compiled for executables, and use thread-local variables in a way that only executables can. All
// other code of Abseil that the engine uses is in Abseil's headers.
//
// The definitions belong to the headers of one release. They are hidden in the library, so that a
// program may use any Abseil of its own.
#include <absl/base/config.h>
#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#if ABSL_LTS_RELEASE_VERSION != 20220623
#error "not Abseil 20220623: configure with -DLATCHKEY_ABSEIL_INSIDE=OFF"
#endif

namespace absl {
ABSL_NAMESPACE_BEGIN

namespace {

using status_internal::StatusRep;

// Each member by itself: the constructor and the destructor of StatusRep need the code of absl::Cord
// for payloads, which the engine does not use.
StatusRep* MakeRep(StatusCode code, string_view message) {
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory); }
  };
  std::unique_ptr<void, Free> memory(::operator new(sizeof(StatusRep)));
  auto* rep = static_cast<StatusRep*>(memory.get());
  new (&rep->message) std::string(message.data(), message.size());
  new (&rep->ref) std::atomic<int32_t>(1);
  new (&rep->payloads) std::unique_ptr<status_internal::Payloads>();
  rep->code = code;
  memory.release();
  return rep;
}

void FreeRep(StatusRep* rep) {
  std::destroy_at(&rep->message);
  ::operator delete(rep);
}

[[noreturn]] void Die(const char* why, string_view message) {
  std::fprintf(stderr, "%s: %.*s\n", why, static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace

Status::Status(StatusCode code, string_view message) : rep_(CodeToInlinedRep(code)) {
  if (code != StatusCode::kOk && !message.empty()) rep_ = PointerToRep(MakeRep(code, message));
}

void Status::UnrefNonInlined(uintptr_t rep) {
  StatusRep* r = RepToPointer(rep);
  if (r->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) FreeRep(r);
}

StatusCode Status::code() const {
  return IsInlined(rep_) ? InlinedRepToCode(rep_) : RepToPointer(rep_)->code;
}

bool Status::EqualsSlow(const Status& a, const Status& b) {
  return a.code() == b.code() && a.message() == b.message();
}

constexpr const char Status::kMovedFromString[];

#define LATCHKEY_STATUS(Name)                                                              \
  Status Name##Error(string_view message) { return Status(StatusCode::k##Name, message); } \
  bool Is##Name(const Status& status) { return status.code() == StatusCode::k##Name; }
LATCHKEY_STATUS(Aborted)
LATCHKEY_STATUS(AlreadyExists)
LATCHKEY_STATUS(Cancelled)
LATCHKEY_STATUS(DataLoss)
LATCHKEY_STATUS(DeadlineExceeded)
LATCHKEY_STATUS(FailedPrecondition)
LATCHKEY_STATUS(Internal)
LATCHKEY_STATUS(InvalidArgument)
LATCHKEY_STATUS(NotFound)
LATCHKEY_STATUS(OutOfRange)
LATCHKEY_STATUS(PermissionDenied)
LATCHKEY_STATUS(ResourceExhausted)
LATCHKEY_STATUS(Unavailable)
LATCHKEY_STATUS(Unimplemented)
LATCHKEY_STATUS(Unknown)
#undef LATCHKEY_STATUS

namespace internal_statusor {

void Helper::HandleInvalidStatusCtorArg(Status* status) {
  *status = InternalError("a StatusOr was made from an OK status: a defect of the library");
}

void Helper::Crash(const Status& status) {
  Die("the value of a StatusOr was read, but it holds an error", status.message());
}

}  // namespace internal_statusor

namespace hash_internal {

const void* const MixingHashState::kSeed = &kSeed;

}  // namespace hash_internal

namespace container_internal {

// The control bytes of an empty table: a sentinel, then empty slots.
alignas(16) ABSL_CONST_INIT ABSL_DLL const ctrl_t kEmptyGroup[16] = {
    ctrl_t::kSentinel, ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty,
    ctrl_t::kEmpty,    ctrl_t::kEmpty, ctrl_t::kEmpty, ctrl_t::kEmpty};

void ConvertDeletedToEmptyAndFullToDeleted(ctrl_t* ctrl, size_t capacity) {
  for (ctrl_t* group = ctrl; group < ctrl + capacity; group += Group::kWidth) {
    Group{group}.ConvertSpecialToEmptyAndFullToDeleted(group);
  }
  std::memcpy(ctrl + capacity + 1, ctrl, NumClonedBytes());
  ctrl[capacity] = ctrl_t::kSentinel;
}

// The header says that it is compiled elsewhere, for callers that do not inline it.
template FindInfo find_first_non_full(const ctrl_t*, size_t, size_t);

// The order of insertion within a group; without NDEBUG the headers ask.
bool ShouldInsertBackwards(size_t, const ctrl_t*) { return false; }

}  // namespace container_internal

ABSL_NAMESPACE_END
}  // namespace absl
