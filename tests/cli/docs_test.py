#!/usr/bin/env python3
"""The columns of values and defaults in docs/reference are the program's, every link between pages leads somewhere, and no page has too many words."""
import re
import subprocess
import sys
from pathlib import Path

import ddpsim_cli as cli

CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r'docs/(model|nccl|accuracy|validation|reference/[\w-]+)\.md[,"]? \(?"([^"\n]+)"')
# As `wc -w` counts them. A page that outgrows its row loses words first.
MOST_WORDS_TOGETHER = 45000
MOST_WORDS = {
    "README.md": 1160,
    "docs/accuracy.md": 6480,
    "docs/architecture.md": 2350,
    "docs/guide/coursework.md": 1380,
    "docs/guide/record.md": 1050,
    "docs/guide/research.md": 1190,
    "docs/guide/which-method.md": 1130,
    "docs/guide/your-cluster.md": 1250,
    "docs/guide/your-measurements.md": 1110,
    "docs/guide/your-own-job.md": 1490,
    "docs/limits.md": 410,
    "docs/model.md": 10510,
    "docs/nccl.md": 2620,
    "docs/reference/gpu-model-software.md": 1680,
    "docs/reference/index.md": 210,
    "docs/reference/launch.md": 690,
    "docs/reference/measured.md": 1250,
    "docs/reference/results.md": 1300,
    "docs/reference/scenario.md": 3730,
    "docs/reference/topology.md": 1320,
    "docs/reference/traces.md": 1290,
    "docs/validation.md": 1440,
}


def reference():
    return sorted((cli.SOURCE_ROOT / "docs/reference").glob("*.md"))


def scenario_page():
    return cli.SOURCE_ROOT / "docs/reference/scenario.md"


def anchor_of(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page):
    """Those of headings, and the page's own."""
    text = CODE.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {anchor_of(heading) for heading in headings} | set(re.findall(r'<a id="([^"]+)"', text))


class KeysTest(cli.CliTest):
    def keys(self, *arguments):
        command = [sys.executable, "-B", cli.SOURCE_ROOT / "scripts/docs-keys", "--ddpsim", cli.BINARY, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=False)

    def test_the_pages_say_what_the_program_does(self):
        done = self.keys("--check")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_finds_and_corrects_what_the_page_says_otherwise(self):
        text = scenario_page().read_text()
        row = "| `parameter_server.servers` | integer 1-1048576 | 1 | each"
        for wrong in (row.replace(" | 1 | ", " | 2 | "), row.replace("integer 1-1048576", "bool")):
            with self.subTest(wrong):
                self.assertIn(row, text)
                page = self.write("scenario.md", text.replace(row, wrong))
                self.assertEqual(self.keys("--check", "--page", page).returncode, 1)
                self.assertEqual(self.keys("--page", page).returncode, 0)
                self.assertEqual(page.read_text(), text)

    def test_most_keys_have_generated_columns(self):
        page = self.write("scenario.md", re.sub(r"^(\| `[^|]*) \| .*? \| .*? \| ", r"\1 | ? | ? | ", scenario_page().read_text(), flags=re.MULTILINE))
        self.assertEqual(self.keys("--page", page).returncode, 0)
        rows = [line for line in page.read_text().splitlines() if re.match(r"\| `[a-z_]+\.[a-z_.]+`", line)]
        self.assertGreater(sum(" | ? | " not in row for row in rows), 100)


class NotesTest(cli.CliTest):
    CODE_AND_TEXT = re.compile(r'[{(]\s*"([a-z0-9]+(?:-[a-z0-9]+)+)",\s*(?:fmt::format\(|"[^"]* )')

    def test_every_note_has_its_line(self):
        """A note is written as its code and its text; of programs' names the text is no sentence but what they are for."""
        text = (cli.SOURCE_ROOT / "docs/reference/results.md").read_text()
        text = text[text.index("## Notes"):text.index("## Exit codes")]
        codes = {code for file in (cli.SOURCE_ROOT / "sim").rglob("*.cpp") for code in self.CODE_AND_TEXT.findall(file.read_text())}
        self.assertGreater(len(codes), 50)
        self.assertEqual({code for code in codes if f"`{code}`" not in text and not code.startswith("ddpsim-")}, set())


class WordsTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        pages = [cli.SOURCE_ROOT / "README.md", *(cli.SOURCE_ROOT / "docs").rglob("*.md")]
        self.words = {str(page.relative_to(cli.SOURCE_ROOT)): len(page.read_text().split()) for page in pages}

    def test_all_pages_together_have_few(self):
        self.assertLessEqual(sum(self.words.values()), MOST_WORDS_TOGETHER)

    def test_no_page_has_too_many(self):
        words = self.words
        self.assertEqual(set(words), set(MOST_WORDS))
        self.assertEqual({page: count for page, count in words.items() if count > MOST_WORDS[page]}, {})

    def test_the_reference_has_contents_where_it_is_long(self):
        for page in reference():
            with self.subTest(page.name):
                head, *sections = re.split(r"^## ", CODE.sub("", page.read_text()), flags=re.MULTILINE)
                if len(sections) > 4:
                    self.assertEqual([anchor for anchor in map(anchor_of, [section.partition("\n")[0] for section in sections]) if f"(#{anchor})" not in head], [])


class LinksTest(cli.CliTest):
    def pages(self):
        listed = subprocess.run(["git", "ls-files", "*.md"], cwd=cli.SOURCE_ROOT, capture_output=True, text=True, check=False).stdout.split()
        return [cli.SOURCE_ROOT / page for page in listed] or sorted(cli.SOURCE_ROOT.glob("docs/**/*.md"))

    def test_tests_that_pages_name_are_there(self):
        named = {path for page in self.pages() for path in re.findall(r"`((?:tests|sim)/[\w/]+\.(?:cpp|hpp|py))`", page.read_text())}
        self.assertGreater(len(named), 50)
        self.assertEqual({path for path in named if not (cli.SOURCE_ROOT / path).exists()}, set())

    def test_links_lead_somewhere(self):
        checked, broken = 0, []
        for page in self.pages():
            text = re.sub(r"`[^`\n]*`", "", CODE.sub("", page.read_text()))
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                path, _, anchor = link.partition("#")
                target = page.parent / path if path else page
                if re.match(r"\w+:", link):
                    continue
                checked += 1
                if not target.exists() or anchor and anchor not in anchors(target):
                    broken.append(f"{page.relative_to(cli.SOURCE_ROOT)}: {link}")
        self.assertGreater(checked, 200)
        self.assertEqual(broken, [])

    def test_sections_that_comments_name_are_there(self):
        """docs/model.md, "Memory": a heading of the page, or words in bold."""
        checked, missing = 0, []
        for folder in ("sim", "python", "tests", "measurements", "validate", "traces", "calibrations"):
            for file in sorted((cli.SOURCE_ROOT / folder).rglob("*")):
                if file.suffix not in (".cpp", ".hpp", ".py", ".yaml"):
                    continue
                text = re.sub(r"\n *(//|#) ?", " ", file.read_text(errors="replace"))
                for page, section in QUOTED.findall(text):
                    checked += 1
                    named = (cli.SOURCE_ROOT / f"docs/{page}.md").read_text()
                    if not re.search(rf"^#+ {re.escape(section)}|\*\*{re.escape(section)}", named, re.MULTILINE):
                        missing.append(f"{Path(file).relative_to(cli.SOURCE_ROOT)}: docs/{page}.md, \"{section}\"")
        self.assertGreater(checked, 15)
        self.assertEqual(missing, [])


if __name__ == "__main__":
    cli.main()
