#!/usr/bin/env python3
"""Plants one breach of each rule into a small tree and sees that tools/check_house names it."""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("check_house", str(Path(__file__).parent / "check_house"))
SPEC = importlib.util.spec_from_loader("check_house", LOADER)
check_house = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(check_house)

SOUND = {
    "README.md": "See `storage/page.h` and [engine](engine/README.md).\n```cpp\nint main() {}\n```\n",
    "storage/README.md": "base/ holds the rest.\n",
    "storage/page.h": "#pragma once\n",
    "storage/base/ids.h": "#pragma once\n",
    "layout/README.md": "x\n",
    "layout/map.h": "#pragma once\n#include \"storage/page.h\"\n",
    "engine/README.md": "x\n",
    "engine/example_main.cc": "int main() {}\n",
    "engine/latchkey.h": "#pragma once\n#include <string>\n",
}


class CheckHouseTest(unittest.TestCase):
    def breaches_of(self, files=None):
        """Breaches of the sound tree with `files` (path -> text) added or replaced."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND, **(files or {})}.items():
                path = Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_house.breaches(root)

    def assert_one(self, files, *words):
        found = self.breaches_of(files=files)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_sound_tree_has_no_breach(self):
        self.assertEqual(self.breaches_of(), [])

    def test_an_include_that_runs_up_is_found(self):
        self.assert_one({"storage/up.h": "#pragma once\n#include \"layout/map.h\"\n"},
                        "storage/up.h:2", "must not include from layout")

    def test_bindings_include_the_public_header_alone(self):
        self.assert_one({"bindings/README.md": "c/\n", "engine/README.md": "x\n",
                         "engine/latchkey.h": "#pragma once\n", "engine/tree.h": "#pragma once\n",
                         "bindings/c/x.cc": "#include \"engine/latchkey.h\"\n#include \"engine/tree.h\"\n"},
                        "bindings/c/x.cc:2", "only engine/latchkey.h")

    def test_layout_and_bufferpool_do_not_know_each_other(self):
        self.assert_one({"bufferpool/README.md": "x\n", "bufferpool/pool.cc": "#include \"layout/map.h\"\n"},
                        "bufferpool must not include from layout")

    def test_an_include_relative_to_its_folder_is_found(self):
        self.assert_one({"layout/x.cc": "#include \"map.h\"\n"}, "repository's root")

    def test_a_circle_of_includes_is_found(self):
        self.assert_one({"layout/a.h": "#pragma once\n#include \"layout/b.h\"\n",
                         "layout/b.h": "#pragma once\n#include \"layout/a.h\"\n"}, "circle")

    def test_a_name_of_a_standard_header_that_nothing_includes_is_found(self):
        self.assert_one({"storage/a.cc": "#include \"storage/page.h\"\n// std::map\nstd::vector<int> x;\n"},
                        "storage/a.cc:3", "std::vector without #include <vector>")

    def test_a_type_of_ours_whose_header_nothing_includes_is_found(self):
        page = {"storage/page.h": "#pragma once\nclass Page {\n};\nconstexpr int kPageBits = 3;\n"}
        self.assert_one({**page, "storage/a.cc": "// Page\nint Page(int);\nstd::size_t size = sizeof(Page);\n"},
                        "storage/a.cc:3", "Page without #include \"storage/page.h\"")
        self.assert_one({**page, "storage/a.cc": "int x = kPageBits;\n"}, "kPageBits")
        self.assert_one({**page, "storage/a.cc": "class Page;\nPage* pointer;\nPage page;\n"}, "storage/a.cc:3")

    def test_a_type_of_ours_may_come_with_another_header_or_be_declared_ahead(self):
        page = {"storage/page.h": "#pragma once\nclass Page {\n};\n",
                "storage/pages.h": "#pragma once\n#include \"storage/page.h\"\n"}
        self.assertEqual(self.breaches_of({**page, "storage/a.cc": "#include \"storage/pages.h\"\nPage page;\n"}), [])
        self.assertEqual(self.breaches_of({**page, "storage/a.h": "#pragma once\nclass Page;\nPage* page;\n"}), [])

    def test_a_standard_header_may_come_with_a_header_of_ours_or_with_another(self):
        self.assertEqual(self.breaches_of({"storage/b.h": "#pragma once\n#include <absl/status/statusor.h>\n",
                                           "storage/a.cc": "#include \"storage/b.h\"\nabsl::Status x;\n"}), [])

    def test_waiting_outside_the_runtime_is_found(self):
        self.assert_one({"layout/x.cc": "#include <mutex>\n"}, "layout/x.cc:1", "storage/runtime")
        self.assert_one({"layout/x.cc": "thread_local int n;\n"}, "thread_local")

    def test_waiting_in_the_runtime_or_in_a_comment_is_allowed(self):
        self.assertEqual(self.breaches_of(files={
            "storage/README.md": "base/ and runtime/\n",
            "storage/runtime/x.cc": "#include <thread>\n",
            "layout/x.cc": "int n;  // no thread_local here\nconst char* s = \"usleep\";\n"}), [])

    def test_a_public_header_that_needs_the_tree_is_found(self):
        self.assert_one({"engine/latchkey.h": "#pragma once\n#include \"storage/page.h\"\n"},
                        "not installed")

    def test_a_part_of_the_public_header_is_held_to_the_same_rule(self):
        header = {"engine/latchkey.h": "#pragma once\n#include \"engine/options.h\"\n"}
        self.assertEqual(self.breaches_of(files={**header, "engine/options.h": "#pragma once\n"}), [])
        self.assert_one({**header, "engine/options.h":
                         "#pragma once\n#include \"engine/tree.h\"\n",
                         "engine/tree.h": "#pragma once\n"}, "engine/options.h:2", "not installed")

    def test_choices_of_a_test_that_refer_to_what_is_gone_are_found(self):
        self.assert_one({"layout/x_test.cc": "auto n = GENERATE(kSlot0, Offset(1));\n"}, "as<T>")
        self.assertEqual(self.breaches_of(files={
            "layout/x_test.cc": "auto n = GENERATE(as<int>{}, kSlot0);  // GENERATE(kA::kB, kA::kC)\n"}), [])

    def test_test_cases_outside_a_namespace_of_their_file_are_found(self):
        case = "TEST_CASE(\"reads\") {}\n"
        self.assert_one({"layout/x_test.cc": "namespace latchkey {\n" + case + "}\n"}, "latchkey::x_test")
        self.assertEqual(self.breaches_of(files={
            "layout/x_test.cc": "namespace latchkey::x_test {\n" + case + "}\n"}), [])

    def test_an_unguarded_header_is_found(self):
        self.assert_one({"layout/x.h": "int n;\n"}, "pragma once")

    def test_a_folder_that_nobody_explains_is_found(self):
        self.assert_one({"layout/deep/x.cc": "\n"}, "layout/deep", "layout/README.md")
        self.assert_one({"extra/x.txt": "\n"}, "extra: no README.md")

    def test_unfinished_marks_are_found(self):
        self.assert_one({"layout/x.cc": "// TO" + "DO: more\n"}, "unfinished")
        self.assert_one({"layout/x.cc": "<" * 7 + " HEAD\n"}, "unfinished")

    def test_a_test_name_with_a_semicolon_is_found(self):
        text = 'namespace latchkey::x_test {\nTEST_CASE(\n    "reads, "\n    "it writes; both") {}\n'
        self.assert_one({"layout/x_test.cc": text}, "semicolon")

    def test_a_switched_off_test_is_found(self):
        self.assert_one({"layout/x_test.cc": "namespace latchkey::x_test {\nTEST_CASE(\"reads\", \"[" + ".]\") {}\n"}, "switched off")

    def test_a_path_of_one_machine_is_found(self):
        self.assert_one({"layout/x.cc": "// see /ho" + "me/me/x\n"}, "one machine")

    def test_a_file_that_has_grown_too_long_is_found(self):
        self.assert_one({"layout/x.cc": "\n" * 651}, "651 lines")

    def test_a_dead_link_and_a_missing_file_are_found(self):
        self.assert_one({"engine/README.md": "[x](gone.md)\n"}, "gone.md")
        self.assert_one({"README.md": SOUND["README.md"] + "`layout/gone.cc`\n"}, "layout/gone.cc")

    def test_a_file_a_script_or_a_campaign_that_is_named_and_not_there_is_found(self):
        self.assert_one({"layout/x.cc": "int n;  // see map_journal.cc, or layout/map.h\n"}, "layout/x.cc:1",
                        "map_journal.cc")
        self.assert_one({"layout/README.md": "Run `tools/mend`.\n"}, "tools/mend")
        campaigns = {"tools/README.md": "campaign/\n", "tools/campaign/campaign_list.cc": '      {"kills", "x", Run},\n',
                     "layout/README.md": "`latchkey_campaign kills --kills=3`\n"}
        self.assertEqual(self.breaches_of(files=campaigns), [])
        self.assert_one({**campaigns, "layout/README.md": "`latchkey_campaign crash`\n"}, "campaign crash")

    def test_names_of_others_patterns_and_links_are_no_files_of_ours(self):
        self.assertEqual(self.breaches_of({"layout/x.cc": "// <lmdb.h>, kv/NAME_backend.cc, *_test.cc, https://a.b/c.md\n"}),
                         [])

    # The trace of a compiler, a mebibyte of it, was once committed under the name ".json".
    def test_a_file_that_only_a_program_can_have_made_is_found(self):
        self.assert_one({".json": "x" * 65537}, ".json", "65537 bytes")
        self.assertEqual([], self.breaches_of({"long.md": "x" * 65536}))

    def test_an_example_that_the_readme_does_not_show_is_found(self):
        self.assert_one({"engine/example_main.cc": "int main() { return 1; }\n"}, "example_main.cc")

    def test_a_seeded_bug_that_nobody_hunts_or_that_is_nowhere_is_found(self):
        listed = {"tools/README.md": "campaign/ canary/\n",
                  "tools/campaign/canary/canary_list.cc": '    {"a-bug", "x", y},\n'}
        placed = {"layout/x.cc": 'if (LATCHKEY_CANARY("a-bug")) return;\n'}
        self.assertEqual(self.breaches_of(files={**listed, **placed}), [])
        self.assert_one(listed, "canary_list.cc:1", "a-bug", "no place")
        self.assert_one(placed, "layout/x.cc:1", "a-bug", "is not in")

    def test_a_canary_in_a_header_is_found(self):
        self.assert_one({"storage/base/canary.h": "#pragma once\n",
                         "layout/x.h": "#pragma once\n#include \"storage/base/canary.h\"\n"}, "layout/x.h:2")


if __name__ == "__main__":
    unittest.main()
