# SPDX-License-Identifier: Apache-2.0
"""tidy finds what it bans and lets pass what is right."""
import unittest

import tidy

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// What it is for.\n"


class TidyTest(unittest.TestCase):
    def findings(self, path, text):
        return tidy.check({path: text})

    def test_clean_file_passes(self):
        self.assertEqual(self.findings("src/core/a.h", HEAD + '#include "base/time.h"\n'), [])

    def test_core_may_not_see_the_store(self):
        self.assertIn("core may not see store", self.findings("src/core/a.cc", HEAD + '#include "store/store.h"\n')[0])

    def test_doors_may_not_see_net_but_their_tests_may(self):
        self.assertTrue(self.findings("src/doors/http/a.cc", HEAD + '#include "net/event_loop.h"\n'))
        self.assertEqual(self.findings("src/doors/http/a_test.cc", HEAD + '#include "net/event_loop.h"\n'), [])

    def test_libraries_stay_in_their_folder(self):
        self.assertTrue(self.findings("src/engine/a.cc", HEAD + "#include <boost/asio/io_context.hpp>\n"))

    def test_banned_words_are_found_in_code_only(self):
        self.assertTrue(self.findings("src/core/a.cc", HEAD + "auto t = std::chrono::system_clock::now();\n"))
        self.assertTrue(self.findings("src/core/a.cc", HEAD + "throw 1;\n"))
        self.assertTrue(self.findings("src/core/a.cc", HEAD + "auto f = [=] {};\n"))
        self.assertEqual(self.findings("src/core/a.cc", HEAD + "// never throw here\nauto s = \"throw 1;\";\n"), [])

    def test_long_files_lines_and_missing_headers_are_found(self):
        self.assertTrue(self.findings("src/core/a.cc", HEAD + "\n" * 700))
        self.assertTrue(self.findings("src/core/a.cc", HEAD + "x" * 101 + "\n"))
        self.assertTrue(self.findings("src/core/a.cc", "int x;\n"))

    def test_a_page_has_one_title(self):
        self.assertEqual(self.findings("docs/a.md", "# A\n\n```\n# not a title\n```\n"), [])
        self.assertTrue(self.findings("docs/a.md", "# A\n# B\n"))

    def test_machine_paths_are_found(self):
        self.assertTrue(self.findings("docs/a.md", "# A\nsee /home/x\n"))


if __name__ == "__main__":
    unittest.main()
