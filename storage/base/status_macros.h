// Control flow for absl::Status, which Abseil itself does not publish.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <string>
#include <utility>

/// Returns the status of `expression` from the enclosing function unless it is OK.
#define LATCHKEY_RETURN_IF_ERROR(expression)             \
  do {                                                   \
    ::absl::Status latchkey_status_ = (expression);      \
    if (!latchkey_status_.ok()) return latchkey_status_; \
  } while (false)

#define LATCHKEY_MACRO_CONCAT_INNER(a, b) a##b
#define LATCHKEY_MACRO_CONCAT(a, b) LATCHKEY_MACRO_CONCAT_INNER(a, b)

/// `LATCHKEY_ASSIGN_OR_RETURN(auto x, F())`: x = the value of F(), or returns F()'s status.
#define LATCHKEY_ASSIGN_OR_RETURN(declaration, expression)                                   \
  LATCHKEY_ASSIGN_OR_RETURN_IMPL(LATCHKEY_MACRO_CONCAT(latchkey_or_, __LINE__), declaration, \
                                 expression)
#define LATCHKEY_ASSIGN_OR_RETURN_IMPL(temporary, declaration, expression) \
  auto temporary = (expression);                                           \
  if (!temporary.ok()) return std::move(temporary).status();               \
  declaration = *std::move(temporary)

namespace latchkey {

// absl::string_view and std::string_view are distinct types in Debian 12's Abseil; these take a
// formatted std::string so that call sites need no conversion.

/// Builds a Status of `code` with an fmt-formatted message.
template <typename... Args>
absl::Status MakeStatus(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return absl::Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

}  // namespace latchkey
