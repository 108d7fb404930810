// What a child process does that does not end.
#pragma once

namespace latchkey {

/// The longest life of a child, in seconds. A life takes milliseconds to seconds, with sanitizers on a
/// loaded machine up to half a minute.
inline constexpr unsigned kMostSecondsOfChild = 240;

/// Lets this process die of SIGALRM if it still runs after `seconds`. Before that it prints on stderr
/// in which functions its threads are: an address in the program each, for addr2line. Not thread-safe.
/// REQUIRES: this process uses neither SIGALRM nor SIGUSR2 for anything else.
void DieIfHung(unsigned seconds);

}  // namespace latchkey
