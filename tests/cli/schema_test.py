"""The JSON schema of scenarios: every scenario here is valid by it, and it has the keys and words that the readers have, no others.

Which keys a section has, its reader says when it meets an unknown one; which words, when it meets an unknown word.
"""
import json
import random
import re
import unittest
from pathlib import Path

import ddpsim_cli as cli

try:
    import jsonschema
    import yaml
except ImportError:  # Debian: python3-jsonschema, python3-yaml
    jsonschema = None

# What else a scenario needs to get as far as the section, by the section.
NEEDS = {
    "workload": {},
    "workload.rescale": {},
    "workload.attention": {"workload": {"model": "gpt2-xl", "micro_batch": 1}},
    "cluster.overrides[]": {"cluster.overrides[]": {"link": "x"}},
    "cluster.background[]": {"cluster.background[]": {"links": ["gpu0>gpu1"], "size": "1MB"}},
    "cluster.groups[]": {"cluster.groups[]": {"ranks": [0, 1]}},
    "cluster.groups[].ranks": {"cluster.groups[].ranks": {"to": 1}},
    "cluster.groups": {"cluster.groups": {"tensor_parallel": 2}},
    "cluster.placement": {"cluster.placement": {"random": 1}},
    "cluster.hashing": {"cluster.hashing": {"seed": 1}},
    "workload.stragglers[]": {"workload.stragglers[]": {"rank": 1, "slowdown": 1.2}},
    "ddp.comm_hook": {"ddp.comm_hook": {"powersgd": {}}},
    "batch": {"batch": {"global": 8}},
    "physics.interference": {"physics.interference": {"compute": 0.1, "collective": 0.1}},
    "physics.passes": {"physics.passes": {"in": 1, "out": 1}, "physics": {"pass_bandwidth": "1TB/s"}},
    "variability.slow[]": {"variability.slow[]": {"of": "ranks", "probability": 0.1, "slowdown": 1.1}},
    "validation.testbed": {"validation.testbed": {"rate": "1Gbps"}},
}
STRATEGY = {"fsdp": "fsdp", "zero": "zero3", "megatron": "megatron", "data_parallel": "data_parallel", "parameter_server": "parameter_server"}


def steps_of(path):
    return re.findall(r"\[\]|[^.\[\]]+", path)


def put(scenario, path, value):
    """Sets a key; [] is the only item of a list."""
    *before, last = steps_of(path)
    at = scenario
    for step, following in zip(before, [*before, last][1:]):
        empty = [{}] if following == "[]" else {}
        if step == "[]":
            if not at:
                at.append({})
            at = at[0]
            continue
        if not isinstance(at.get(step), type(empty)):
            at[step] = empty
        at = at[step]
    if last == "[]":
        at[:] = [value]
    else:
        at[last] = value


def sections(schema, path=""):
    """(path, properties) of every map with keys of its own."""
    for one in [schema, *schema.get("anyOf", [])]:
        if one.get("additionalProperties") is False:
            yield path, one["properties"]
            for key, below in one["properties"].items():
                yield from sections(below, f"{path}.{key}".lstrip("."))
        if "items" in one:
            yield from sections(one["items"], path + "[]")


def words_of(schema):
    return [word for one in [schema, *schema.get("anyOf", [])] for word in one.get("enum", []) if isinstance(word, str)]


class SchemaTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(self.ok("schema").stdout)
        self.write_scenario()
        self.write("observed.csv", "x\n")

    def scenario(self, section):
        trace = {"trace": "trace.csv"}
        scenario = {"workload": trace, "cluster": {"topology": "ring.yaml", "world_size": 8}}
        top = section.split(".")[0]
        if top in STRATEGY:
            scenario["strategy"] = STRATEGY[top]
        if top in ("pipeline", "tensor", "context"):
            scenario["parallelism"] = {"tensor": 2}
        if section.startswith("collective.gloo"):
            scenario["collective"] = {"backend": "gloo"}
        if top in ("workload", "pipeline", "tensor", "context", "parallelism", "batch", "host", "data_parallel") and section != "workload.stragglers[]":
            if section != "workload.rescale":
                scenario["workload"] = {"model": "gpt2-xl", "micro_batch": 1}
                scenario["cluster"] = {"topology": "dgx-h100", "world_size": 8}
        if top == "variability":
            scenario["variability"] = {"seed": 1}
        for path, values in NEEDS.get(section, {}).items():
            for key, value in values.items():
                put(scenario, f"{path}.{key}", value)
        return scenario

    def refusal(self, scenario):
        self.write("scenario.yaml", json.dumps(scenario))
        return self.fails(2, "simulate", "scenario.yaml").stderr

    def test_a_section_has_the_keys_that_its_reader_knows(self):
        checked = 0
        for path, properties in sections(self.schema):
            if path.startswith("sweep"):
                continue
            with self.subTest(section=path or "scenario"):
                scenario = self.scenario(path)
                if path == "cluster.placement":  # one of two maps, by its key
                    put(scenario, path, {key: 1 for key in properties})
                put(scenario, f"{path}.zzzzzzzz".lstrip("."), 1)
                error = self.refusal(scenario)
                known = re.search(r"^hint: '[^']*' knows (.*)$", error, re.M)
                self.assertTrue(known and "unknown key 'zzzzzzzz'" in error, error)
                expected = set(known[1].split(", "))
                self.assertEqual(set(properties) - {"sweep"}, expected)
                checked += 1
        self.assertGreater(checked, 40)

    def test_a_key_has_the_words_that_its_reader_knows(self):
        checked = 0
        for path, properties in sections(self.schema):
            for key, schema in properties.items():
                words = words_of(schema)
                if not words or path.startswith("sweep"):
                    continue
                with self.subTest(key=f"{path}.{key}"):
                    scenario = self.scenario(path)
                    put(scenario, f"{path}.{key}".lstrip("."), "zzzzzzzz")
                    error = self.refusal(scenario)
                    known = re.search(r"^hint: one of (.*)$", error, re.M)
                    if known:
                        self.assertEqual(set(words), {word for word in known[1].split(", ") if not word.startswith("{")})
                        checked += 1
                    else:  # a word beside numbers or a section: at least it is taken
                        for word in words:
                            put(scenario, f"{path}.{key}".lstrip("."), word)
                            self.write("scenario.yaml", json.dumps(scenario))
                            self.assertNotIn(f"'{word}'", self.run_ddpsim("simulate", "scenario.yaml", "--quiet").stderr)
        self.assertGreater(checked, 20)

    def test_every_key_is_documented(self):
        """docs/formats.md has the whole key, or a line with its last word and the section's, or the kind of value it is part of. What the
        line says of it: docs_test.py."""
        text = (cli.SOURCE_ROOT / "docs/formats.md").read_text()
        kinds = {"observed": "distribution"}

        def is_there(path):
            *sections, leaf = [step for step in path.split(".") if step != "[]"]
            beside = kinds.get(leaf) or (sections[-1] if sections else leaf)
            return path in text or any(re.search(rf"\b{re.escape(leaf)}\b", line) and re.search(rf"\b{beside}\b", line) for line in text.splitlines())

        paths = set()

        def walk(schema, path):
            while "$ref" in schema:
                steps = schema["$ref"][2:].split("/")
                schema = self.schema
                for step in steps:
                    schema = schema[step]
            for other in schema.get("anyOf", []) + schema.get("oneOf", []):
                walk(other, path)
            for key, below in schema.get("properties", {}).items():
                if path or key != "sweep":    # whose keys are the others
                    paths.add(".".join([*path, key]))
                    walk(below, [*path, key])
            if isinstance(schema.get("items"), dict):
                walk(schema["items"], [*path, "[]"])

        walk(self.schema, [])
        self.assertGreater(len(paths), 200)
        self.assertEqual([path for path in sorted(paths) if not is_there(path)], [])

    def test_numbers_have_a_range_and_what_is_constant_a_default(self):
        defaults = numbers = 0
        for section, properties in sections(self.schema):
            for key, schema in properties.items():
                if section.startswith("sweep") or key == "sweep":
                    continue
                defaults += "default" in schema
                for one in [schema, *schema.get("anyOf", [])]:
                    is_release = one.get("type") == ["string", "number"]
                    if not is_release and ("number" in one.get("type", "") or one.get("type") == "integer"):
                        numbers += 1
                        self.assertLess(one["minimum"], one["maximum"], f"{section}.{key}")
        self.assertGreater(min(defaults, numbers), 70)

    @unittest.skipUnless(jsonschema, "python3-jsonschema or python3-yaml is not installed")
    def test_validator_and_program_agree_on_random_values(self):
        """Of one key after the other: what the validator takes the program reads, whatever it says of it besides; what one refuses the other does."""
        refusal = re.compile(r"error: .*(is out of range|^unknown (value|key) |expected |is (not a|neither true)|is a map of keys, not|is no (number|size|placement|hashing|hook|weather))")
        validator = jsonschema.Draft7Validator(self.schema)
        draws = random.Random(7)
        keys = [(section, key, schema) for section, properties in sections(self.schema) if not section.startswith("sweep") and "[]" not in section
                for key, schema in properties.items() if key != "sweep" and "properties" not in schema]

        def draw(schema):
            one = draws.choice(schema.get("anyOf", [schema]))
            if "enum" in one:
                return draws.choice(one["enum"])
            kind = one["type"] if isinstance(one["type"], str) else one["type"][0]
            if kind in ("integer", "number") and "minimum" in one:
                at = min(one["minimum"] + draws.random() ** 3 * (one["maximum"] - one["minimum"]), one["maximum"])
                return round(at) if kind == "integer" else at
            if kind == "object":
                return {key: draw(below) for key, below in one.get("properties", {}).items() if key in one.get("required", [])}
            if kind == "array":
                return [draw(one["items"])]
            return True if kind == "boolean" else one.get("examples", ["text"])[0]

        def wrong(schema):
            one = draws.choice(schema.get("anyOf", [schema]))
            if "maximum" in one and draws.random() < 0.5:
                return draws.choice([one["maximum"] * 2 + 1, one["minimum"] - 1])
            return draws.choice(["zzzz", {"zzzz": 1}, [[["zzzz"]]]])

        counted = {True: 0, False: 0}
        for number in range(300):
            section, key, schema = draws.choice(keys)
            scenario = self.scenario(section)
            put(scenario, f"{section}.{key}".lstrip("."), draw(schema) if number % 2 == 0 else wrong(schema))
            is_valid = validator.is_valid(scenario)
            self.write("scenario.yaml", json.dumps(scenario))
            done = self.run_ddpsim("simulate", "scenario.yaml", "--quiet")
            with self.subTest(key=f"{section}.{key}", scenario=scenario, error=done.stderr):
                if is_valid:
                    self.assertIsNone(refusal.search(done.stderr))
                else:
                    self.assertEqual(done.returncode, 2)
                counted[is_valid] += 1
        self.assertGreater(min(counted.values()), 80, counted)

    @unittest.skipUnless(jsonschema, "python3-jsonschema or python3-yaml is not installed")
    def test_every_scenario_is_valid(self):
        validator = jsonschema.Draft7Validator(self.schema)
        jsonschema.Draft7Validator.check_schema(self.schema)
        files = [*sorted((cli.SOURCE_ROOT / "configs").glob("*.yaml")), *sorted((cli.SOURCE_ROOT / "validate").rglob("scenario*.yaml"))]
        self.assertGreater(len(files), 20)
        for file in files:
            with self.subTest(file=file.name):
                errors = [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(yaml.safe_load(file.read_text()))]
                self.assertEqual(errors, [])

    @unittest.skipUnless(jsonschema, "python3-jsonschema or python3-yaml is not installed")
    def test_what_is_misspelt_is_not_valid(self):
        validator = jsonschema.Draft7Validator(self.schema)
        good = {"workload": {"trace": "a.csv"}, "cluster": {"world_size": 8}}
        self.assertTrue(validator.is_valid(good))
        for path, value in [("clusters", {}), ("ddp.bucketcap", "1MiB"), ("strategy", "dpp"), ("cluster.world_size", "eight"), ("ddp.static_graph", "yes"),
                            ("fsdp.unit.layer", 2), ("cluster.groups[].rank", [0]), ("variability.slow[].last", "run"), ("sweep.strategy", "ddp")]:
            with self.subTest(key=path):
                bad = json.loads(json.dumps(good))
                put(bad, path, value)
                self.assertFalse(validator.is_valid(bad), bad)
        for path in ("workload", "cluster"):
            self.assertFalse(validator.is_valid({key: value for key, value in good.items() if key != path}))


if __name__ == "__main__":
    cli.main()
