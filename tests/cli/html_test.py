#!/usr/bin/env python3
"""sweep --html: one page that is valid, asks nobody for anything, says what was read, and sorts its table."""
import csv
import hashlib
import re
import shutil
import subprocess
import unittest
import urllib.parse
import xml.etree.ElementTree
from html.parser import HTMLParser

import ddpsim_cli as cli

VOID = {"meta", "img"}


class Page(HTMLParser):
    """Elements in order, with their text; refuses tags that are not closed, or not where they should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], {}
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, names)
        element = {"tag": tag, "text": "", "path": tuple(one["tag"] for one in self.open), **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1]["tag"] == tag, (tag, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def of(self, tag):
        return [element for element in self.elements if element["tag"] == tag]


class HtmlTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.write_scenario(more="sweep: {ddp.bucket_cap: [4MiB, 16MiB, 64MiB], cluster.world_size: [8, 64]}")

    def page(self, *arguments):
        self.ok("sweep", "scenario.yaml", "--html", "out.html", "--csv", "out.csv", *arguments)
        return Page(self.read("out.html").decode())

    def test_it_stands_alone(self):
        page = self.page()
        for element in page.elements:
            self.assertFalse({"href", "srcset", "action"} & set(element), element)
            if "src" in element:
                self.assertEqual((element["tag"], element["src"][:19]), ("img", "data:image/svg+xml,"))
        self.assertNotRegex("".join(one["text"] for one in page.of("style") + page.of("script")), r"url\(|import|fetch|https?:")
        self.assertEqual(len(page.of("title")), 1)

    def test_pictures_are_whole(self):
        images = self.page().of("img")
        self.assertEqual([image["alt"] for image in images], ["Iteration time along ddp.bucket_cap", "What the best iteration of each group is made of"])
        for image in images:
            svg = urllib.parse.unquote(image["src"].split(",", 1)[1])
            self.assertTrue(xml.etree.ElementTree.fromstring(svg).tag.endswith("}svg"))

    def test_every_point_is_in_the_table(self):
        page = self.page()
        cells = [one["text"] for one in page.of("td")]
        self.assertEqual(len(self.iterations()), 6)
        for iteration in self.iterations():
            self.assertIn(f"{iteration:.1f}", cells)

    def test_inputs_are_those_that_were_read(self):
        page = self.page()
        inputs = [row["text"] for row in page.of("tr") if re.search(r"[0-9a-f]{64}$", row["text"])]
        expected = []
        for name in ("scenario.yaml", "trace.csv", "ring.yaml"):
            data = self.read(name)
            expected.append(f"{name}{len(data)}{hashlib.sha256(data).hexdigest()}")
        self.assertEqual(sorted(inputs), sorted(expected))

    def test_what_comes_with_ddpsim_is_named_alike_on_every_machine(self):
        self.write("own.yaml", "workload: {model: gpt2, micro_batch: 1, sequence: 1024}\ncluster: {topology: dgx-a100, world_size: 8}\nsweep: {ddp.bucket_cap: [1MiB, 25MiB]}\n")
        self.ok("sweep", "own.yaml", "--html", "a page.html", "--quiet")
        page = Page(self.read("a page.html").decode())
        self.assertTrue(any(row["text"].startswith("topologies/dgx-a100.yaml") for row in page.of("tr")))
        self.assertTrue(any("ddpsim sweep own.yaml --html 'a page.html'\n" in one["text"] for one in page.of("pre")))

    def test_the_default_cap_is_simulated(self):
        page = self.page("--set", "cluster.world_size=8")
        self.ok("simulate", "scenario.yaml", "--json", "usual.json", "--set", "cluster.world_size=8")
        usual = f"{1e3 * self.read_json('usual.json')['iteration_s']:.1f}"
        row = next(row["text"] for row in page.of("tr") if "25 MiB" in row["text"])
        self.assertIn(usual, row)

    def test_the_explanation_is_that_of_the_best_point(self):
        page = self.page("--set", "cluster.world_size=8")
        self.ok("sweep", "scenario.yaml", "--json", "out.json", "--set", "cluster.world_size=8")
        best = self.read_json("out.json")["best"]["axes"]["ddp.bucket_cap"]
        told = self.ok("simulate", "scenario.yaml", "--explain", "--set", "cluster.world_size=8", "--set", f"ddp.bucket_cap={best}").stdout
        text = next(one["text"] for one in page.of("pre") if "what would change it" in one["text"])
        self.assertIn(text.strip(), told)

    def test_the_exact_optimum(self):
        page = self.page("--exact-optimum", "--set", "cluster.world_size=8")
        self.assertTrue(any(re.match("(Worth|Keep the default).*bucket_cap_mb=|Keep the default", one["text"]) for one in page.of("li")))

    def test_the_same_sweep_is_the_same_page(self):
        self.page("--jobs", "1")
        first = self.read("out.html")
        self.page("--jobs", "3")
        self.assertEqual(self.read("out.html"), first)

    def test_hostile_names_stay_text(self):
        name = "<img src=x onerror=alert(1)>\"'&.yaml"
        (self.folder / "scenario.yaml").rename(self.folder / name)
        self.ok("sweep", name, "--html", "out.html")
        page = Page(self.read("out.html").decode())
        self.assertEqual(page.of("h1")[0]["text"], name)
        self.assertEqual(len(page.of("img")), 2)

    def test_every_kind_of_sweep(self):
        """No caps, words only, models that GPUs share, iterations that differ, measured ones."""
        for name in ("world-size-h100", "strategies-2gpu", "which-method", "groups-1024", "jitter-1024xh100", "testbed-2-model-calibrated"):
            with self.subTest(name):
                done = self.ok("sweep", cli.SOURCE_ROOT / f"configs/{name}.yaml", "--html", "out.html", "--quiet")
                self.assertEqual(done.stdout, "")
                self.assertGreater(len(Page(self.read("out.html").decode()).of("img")), 0)

    @unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
    def test_a_browser_draws_and_sorts_it(self):
        self.page()
        text = self.read("out.html").decode()
        click = ('<script>document.querySelectorAll("table.sortable button")[2].click();'
                 'document.body.dataset.drawn = Array.from(document.images).every(function (image) { return image.naturalWidth > 500; });</script></body>')
        self.write("clicked.html", text.replace("</body>", click))
        done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder}/profile", "--virtual-time-budget=5000",
                               "--dump-dom", f"file://{self.folder}/clicked.html"], capture_output=True, text=True, timeout=cli.TIMEOUT_S, check=True)
        page = Page(done.stdout)
        self.assertEqual(page.of("body")[0]["data-drawn"], "true")
        sizes = [float(key) for key in re.findall(r'<tr[^>]*><td data-key="[01]">(?:8|64)</td><td data-key="[^"]*">[^<]*</td><td data-key="([^"]*)', done.stdout)]
        self.assertEqual(len(sizes), 6)
        self.assertEqual(sizes, sorted(sizes))
        self.assertNotEqual(sorted(self.iterations()), self.iterations())

    def iterations(self):
        return [round(1e3 * float(row["iteration_s"]), 3) for row in csv.DictReader(self.read("out.csv").decode().splitlines())]


if __name__ == "__main__":
    cli.main()
