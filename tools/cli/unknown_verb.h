// The error for a word that stands where a verb must stand. It names the verbs there, and the likely
// one.
#pragma once

#include <absl/status/status.h>

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace latchkey {

/// `words` are those behind the name of `program`. InvalidArgument: one of them stands where a verb
/// must stand, and is none. OK if a flag or nothing stands there: the parser judges these.
absl::Status CheckVerbs(const CLI::App& program, std::span<const std::string> words);

/// InvalidArgument: "help bnech: no such verb; did you mean bench? known: ...". `said` is what the
/// user wrote, `word` the part of it that is no verb of `within`.
absl::Status UnknownVerb(const CLI::App& within, std::string_view said, std::string_view word);

}  // namespace latchkey
