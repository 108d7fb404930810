// u of victims in segments of S slots. (6.2) and its counterpart for hole-plugging hold for segments
// of very many slots; with few slots the emptiest segment is emptier than the mean.
//
// Derivation, for uniform writes and many segments. A segment begins full and loses its live pages
// one by one; of those with k live pages there are, per user write and segment freed, in proportion
// 1/k. The cleaner takes every segment with m live pages, and the share p of those with m + 1. Then
// with v = m + p = u S, and H the harmonic numbers:
//   cleaning:  1/u_d = S/(S - v) * (H_S - H_(m+1) + (1 - p)/(m + 1))
//   plugging:  1/u_d = u + (H_S - H_(m+1) + (1 - p)/(m + 1))
// In the limit of large S the bracket is -ln u: (6.2), and 1/u_d = u - ln u. Fullest-first plugging
// keeps the share u of u_d full, because each segment freed fills u S holes.
//
// Pure functions.
#pragma once

#include <cstdint>

namespace latchkey {

/// u of greedy cleaning in segments of `slots` >= 2 pages. 0 and 1 outside of (0, 1).
double CleaningUtilizationOf(uint32_t slots, double disk_utilization);
/// u of fullest-first hole-plugging.
double PluggingUtilizationOf(uint32_t slots, double disk_utilization);

}  // namespace latchkey
