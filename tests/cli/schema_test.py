"""The JSON schema of scenarios: every scenario here is valid by it. That it has the keys, ranges and words of the rows that are read:
tests/report/scenario_schema_test.cpp, and that these are read so: tests/job/key_rows_test.cpp."""
import json
import re
import unittest

import ddpsim_cli as cli

try:
    import jsonschema
    import yaml
except ImportError:  # Debian: python3-jsonschema, python3-yaml
    jsonschema = None


class SchemaTest(cli.CliTest):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(self.ok("internals", "schema").stdout)

    def test_every_key_is_documented(self):
        """docs/reference has the whole key, or a line with its last word and the section's, or the kind of value it is part of. What the
        line says of it: docs_test.py."""
        text = "\n".join(page.read_text() for page in (cli.SOURCE_ROOT / "docs/reference").glob("*.md"))
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
        for change in ({"clusters": {}}, {"ddp": {"bucketcap": "1MiB"}}, {"strategy": "dpp"}, {"cluster": {"world_size": "eight"}},
                       {"ddp": {"static_graph": "yes"}}, {"fsdp": {"unit": {"layer": 2}}}, {"cluster": {"world_size": 8, "groups": [{"rank": [0]}]}},
                       {"variability": {"slow": [{"last": "run"}]}}, {"sweep": {"strategy": "ddp"}}):
            with self.subTest(change):
                self.assertFalse(validator.is_valid({**good, **change}))
        for path in ("workload", "cluster"):
            self.assertFalse(validator.is_valid({key: value for key, value in good.items() if key != path}))


if __name__ == "__main__":
    cli.main()
