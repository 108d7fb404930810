// Part of latchkey.h. Within the tree library and program have one Abseil, so that there is nothing to check.
// cmake/LatchkeyInstall.cmake gives embedders another version of this file, which refuses to compile
// with another release of Abseil than the library's.
#pragma once
