"""The cases that record_pytorch.py records: models of recorded_models.py under options of DistributedDataParallel."""

DEFAULTS = {
    "bucket_cap_mb": None, "bucket_cap_mb_list": None, "first_bucket_bytes": None, "find_unused_parameters": False,
    "static_graph": False, "gradient_as_bucket_view": False, "set_last_bucket_cap": False,
    "skip_all_reduce_unused_params": False, "accumulation_steps": 1, "comm_hook": "none",
}
# A case is words of SHORT, with a value unless it switches an option on; "-": the defaults.
SHORT = {"cap": "bucket_cap_mb", "caps": "bucket_cap_mb_list", "first": "first_bucket_bytes",
         "find": "find_unused_parameters", "static": "static_graph", "view": "gradient_as_bucket_view",
         "last": "set_last_bucket_cap", "skip": "skip_all_reduce_unused_params", "accumulate": "accumulation_steps",
         "hook": "comm_hook"}
CASES = {
    "resnet18": "- cap=25 cap=4 cap=1 cap=0.05 cap=1000 find find,cap=4 static static,cap=2 view,cap=2 last last,cap=2 "
                "cap=2,first=200000 find,cap=2,first=200000 first=200000 accumulate=2,cap=2 caps=0.5/2/3 last,caps=0.5/2/3",
    "resnet50": "- cap=0.05 cap=0.5 cap=2 find,cap=0.5 static,cap=0.5 last,cap=0.5",
    "gpt2": "- cap=0.05 cap=0.3 cap=2 cap=100 find find,cap=0.3 static,cap=0.3 find,static,cap=0.3 view,cap=0.3 "
            "last last,cap=0.3 last,static,cap=0.3 accumulate=2,cap=0.3 hook=fp16_compress_hook,cap=0.3 "
            "hook=bf16_compress_hook,cap=0.3 caps=0.1/1 find,caps=0.1/1 static,caps=0.1/1",
    "gpt2_wide": "- cap=25 find find,cap=25 static last",
    "bert": "- cap=0.1 cap=1 find,cap=0.1 static,cap=0.1 last,cap=0.1",
    "bert_frozen": "- cap=0.1 find,cap=0.1",
    **dict.fromkeys(["mixed_2_weights", "mixed_2_layers", "mixed_3", "mixed_3_cyclic", "mixed_3_shuffled", "mixed_4",
                     "mixed_4_shuffled"],
                    "- cap=0.002 cap=0.03 find find,cap=0.03 static,cap=0.03 last,cap=0.03 first=9000 first=9000,cap=0.03 "
                    "find,first=9000,cap=0.03 last,first=9000,cap=0.03"),
    "moe": "find find,cap=0.05 find,first=30000,cap=0.05 find,view,cap=0.05 find,skip,cap=0.05",
    "moe_all": "find,cap=0.05 cap=0.05",
    "moe_fixed": "find,cap=0.05 static,cap=0.05 find,static,cap=0.05 static,last,cap=0.05 static,first=30000,cap=0.05 "
                 "find,accumulate=2,cap=0.05",
    "moe_ranks": "find,cap=0.05",
}


def number(text):
    return float(text) if "." in text else int(text)


def parse_options(words):
    options = dict(DEFAULTS)
    for word in () if words == "-" else words.split(","):
        key, _, value = word.partition("=")
        if key == "caps":
            options[SHORT[key]] = [number(cap) for cap in value.split("/")]
        else:
            options[SHORT[key]] = value if key == "hook" else number(value) if value else True
    return options


def all_cases():
    return [(f"{model}/{words}", model, parse_options(words)) for model, cases in CASES.items() for words in cases.split()]
