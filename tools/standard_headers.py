"""Headers of the standard library, Abseil and fmt that most files include, and the names for which they do.

The compiler reads several files at once (LATCHKEY_UNITY), so it does not see that one of them lacks a header.
tools/check_house sees that, by the names.
"""

STANDARD_HEADERS = {
    "absl/container/flat_hash_map.h": r"absl::flat_hash_map\b",
    "absl/container/flat_hash_set.h": r"absl::flat_hash_set\b",
    "absl/status/status.h": r"absl::(Status\b|StatusCode\b|OkStatus\b|Is[A-Z]\w+\(|[A-Z]\w+Error\()",
    "absl/status/statusor.h": r"absl::StatusOr\b",
    "algorithm": r"std::(all_of|any_of|binary_search|clamp|copy_n|count_if|find|find_if|is_sorted|lower_bound|make_heap|"
                 r"max_element|min_element|none_of|nth_element|partition|pop_heap|push_heap|remove_if|reverse|rotate|"
                 r"shuffle|sort|stable_sort|transform|unique|upper_bound)\b",
    "array": r"std::array\b",
    "atomic": r"std::(atomic\w*|memory_order\w*)\b",
    "cstring": r"std::(memchr|memcmp|memcpy|memmove|memset|strcmp|strlen)\b",
    "deque": r"std::deque\b",
    "fmt/format.h": r"fmt::\w+",
    "functional": r"std::(function|greater|hash|less)\b",
    "map": r"std::(multi)?map\b",
    "memory": r"std::(make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr)\b",
    "numeric": r"std::(accumulate|iota)\b",
    "optional": r"std::(nullopt|optional)\b",
    "span": r"std::span\b",
    "string": r"std::(string|to_string)\b",
    "string_view": r"std::string_view\b",
    "unordered_map": r"std::unordered_map\b",
    "unordered_set": r"std::unordered_set\b",
    "vector": r"std::vector\b",
}
# The key brings what the value declares.
BRINGS = {"absl/status/statusor.h": {"absl/status/status.h"}}
