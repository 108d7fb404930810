// The parts of a fuzz target: the entry point, called by libFuzzer and by our driver, and seeds
// made by code. Each program is one target: fuzz_NAME.cc defines all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace latchkey {

/// The name in messages and counts.
extern const char* const kFuzzTarget;

/// Inputs from which mutations begin: sound ones, in every form that the target knows. Equal in
/// every process.
std::vector<std::string> FuzzSeeds();

/// Number of inputs that were accepted as sound. A target that refuses all inputs tests little.
extern uint64_t fuzz_accepted;

}  // namespace latchkey

/// Takes any bytes. Returns 0, or ends the process if the code under test breaks a promise.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
