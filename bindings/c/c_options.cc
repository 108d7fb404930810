// lk_options_*, lk_option_*, and what needs no handle.
#include <string>
#include <utility>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

template <typename Call>
lk_code WithOptions(lk_options options, lk_error* error, Call call) noexcept {
  return With(option_sets, "options", options.id, error, call);
}

// Hands a message to `sink(text, size)`, which ends in C. Without memory for its NUL, the message is a
// shorter one.
template <typename Sink>
void Send(std::string_view message, Sink sink) {
  try {
    const std::string text(message);
    sink(text.c_str(), text.size());
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLost = "a message was lost: out of memory";
    sink(kLost.data(), kLost.size());
  }
}

static_assert(LK_LOG_DEBUG == static_cast<int>(LogSeverity::kDebug) &&
              LK_LOG_ERROR == static_cast<int>(LogSeverity::kError));
static_assert(LK_EVENT_CHECKPOINT == static_cast<int>(EventKind::kCheckpoint) &&
              LK_EVENT_STALL == static_cast<int>(EventKind::kStall) &&
              LK_EVENT_WRITE_ERROR == static_cast<int>(EventKind::kWriteError) &&
              LK_EVENT_READ_ONLY == static_cast<int>(EventKind::kReadOnly) &&
              LK_EVENT_SLOW_CALL == static_cast<int>(EventKind::kSlowCall));

// Names and help texts are static, and ListOptions tells them in the same order always.
const std::vector<NamedOption>& AllOptions() {
  static const auto* options = new std::vector<NamedOption>(ListOptions());
  return *options;
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

const char* lk_version(void) { return LATCHKEY_VERSION; }

const char* lk_code_name(lk_code code) {
  switch (code) {
    case LK_OK:
      return "OK";
    case LK_CANCELLED:
      return "CANCELLED";
    case LK_UNKNOWN:
      return "UNKNOWN";
    case LK_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case LK_NOT_FOUND:
      return "NOT_FOUND";
    case LK_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case LK_PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case LK_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case LK_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case LK_ABORTED:
      return "ABORTED";
    case LK_INTERNAL:
      return "INTERNAL";
    case LK_UNAVAILABLE:
      return "UNAVAILABLE";
    case LK_DATA_LOSS:
      return "DATA_LOSS";
    default:
      return "?";
  }
}

void lk_value_release(lk_value* value) {
  if (value == nullptr) return;
  delete static_cast<std::string*>(value->owner);
  *value = LK_VALUE_INIT;
}

lk_code lk_options_create(lk_options* options, lk_error* error) {
  if (options == nullptr) return FailNull(error, "options");
  options->id = 0;
  return Guarded(error, [&] { return MakeHandle(option_sets, "options", &options->id, error); });
}

lk_code lk_options_set(lk_options options, const char* name, const char* value, lk_error* error) {
  if (name == nullptr) return FailNull(error, "name");
  if (value == nullptr) return FailNull(error, "value");
  return WithOptions(options, error,
                     [&](Options& found) { return Report(error, SetOption(name, value, &found)); });
}

lk_code lk_options_get(lk_options options, const char* name, lk_value* value, lk_error* error) {
  if (name == nullptr) return FailNull(error, "name");
  return WithOptions(options, error, [&](Options& found) {
    for (NamedOption& option : ListOptions(found)) {
      if (option.name != name) continue;
      return ReadInto(value, error, [&](std::string* text) {
        *text = std::move(option.value);
        return absl::OkStatus();
      });
    }
    return Fail(error, LK_NOT_FOUND,
                "no option is named '" + std::string(name) + "': lk_option_at tells the names");
  });
}

lk_code lk_options_set_log_sink(lk_options options, lk_log_sink sink, void* context,
                                lk_error* error) {
  return WithOptions(options, error, [&](Options& found) {
    found.log_sink = nullptr;
    if (sink != nullptr) {
      found.log_sink = [sink, context](LogSeverity severity, std::string_view message) {
        Send(message, [&](const char* text, size_t size) {
          sink(context, static_cast<int>(severity), text, size);
        });
      };
    }
    return kOk;
  });
}

lk_code lk_options_set_event_sink(lk_options options, lk_event_sink sink, void* context,
                                  lk_error* error) {
  return WithOptions(options, error, [&](Options& found) {
    found.event_sink = nullptr;
    if (sink != nullptr) {
      found.event_sink = [sink, context](const DatabaseEvent& event) {
        Send(event.message, [&](const char* text, size_t size) {
          sink(context, static_cast<int>(event.kind), text, size, event.duration_ns);
        });
      };
    }
    return kOk;
  });
}

lk_code lk_options_release(lk_options options, lk_error* error) {
  return Release(option_sets, "options", options.id, error);
}

size_t lk_option_count(void) {
  size_t count = 0;
  Guarded(nullptr, [&] {
    count = AllOptions().size();
    return kOk;
  });
  return count;
}

lk_code lk_option_at(size_t index, const char** name, const char** help, lk_error* error) {
  if (name == nullptr) return FailNull(error, "name");
  *name = nullptr;
  if (help != nullptr) *help = nullptr;
  return Guarded(error, [&] {
    const std::vector<NamedOption>& all = AllOptions();
    if (index >= all.size()) {
      return Fail(error, LK_NOT_FOUND, "no option has this index: give less than lk_option_count");
    }
    *name = all[index].name.data();  // a literal: it ends with NUL
    if (help != nullptr) *help = all[index].help.data();
    return kOk;
  });
}

}  // extern "C"
