// What a fuzz target consists of: the entry point that libFuzzer and our driver call, and seeds
// made by code. One target a program: fuzz_NAME.cc defines all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace latchkey {

/// The name in messages and counts.
extern const char* const kFuzzTarget;

/// Inputs from which mutations begin: sound ones, of every form that the target knows. Equal in
/// every process.
std::vector<std::string> FuzzSeeds();

/// How many inputs were taken for what they claim to be, rather than refused: a target whose inputs
/// are all refused tests little.
extern uint64_t fuzz_accepted;

}  // namespace latchkey

/// Any bytes: returns 0, or ends the process where the code under test breaks a promise.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
