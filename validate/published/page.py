"""What the accuracy book looks like: Markdown from judgements."""
from dataclasses import dataclass

HEAD = """# The book of overlapped steps

Published measurements of real data-parallel training, and what ddpsim says of them from a part of each: times without communication, all-reduces, and
ONE overlapped row to calibrate the interference. The protocol, fixed beforehand, is [README.md]({base}/README.md); what it comes to: [docs/accuracy.md]({base}/../../docs/accuracy.md#overlapped-steps);
provenance and doubts are in each set's SOURCE.md. Nobody of this project measured any of it. To regenerate all of it:

```sh
validate/published/book.py build/release/sim/ddpsim --out validate/published/BOOK.md
```

The *form* of the model (who slows whom down) was chosen earlier with these very sets in view; held out are rows, not sets. A judged row was used for no
parameter. Errors are predicted / measured - 1. "Defaults" is what somebody gets who names the GPU (an H100 where no report says which) and has the times of compute and of all-reduces alone, but calibrates
neither interference nor copies: the middle of what interference and the spread of GPUs may be, and how many measured rows lie within that range. That range was drawn from such runs, these sets among them, so that it is no independent judgement.
"""


@dataclass
class Chapter:
    data: object
    judgements: list
    fits: dict
    variations: list             # (variation, judgements or None, fits or the error)
    groups: list                 # of judgements, in which something is chosen
    plot: str | None


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.1f}"


def percent(share, digits=1):
    if share is None:
        return ""
    text = f"{share * 100:+.{digits}f}"
    return f"{text if float(text) else text[1:]} %"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def errors(judgements, value):
    return [value(j) / j.measured - 1 for j in judgements if j.counts and value(j) is not None]


def unsigned(share):
    return percent(share).lstrip("+")


def mean_and_worst(found):
    return f"{100 * sum(map(abs, found)) / len(found):.2f} / {100 * max(map(abs, found)):.1f}" if found else "-"


def predicted(j):
    return j.predicted


def plain(j):
    return j.plain


def repeated(j):
    return j.repeated


def default(j):
    return j.defaults[1]


def inside(judgements):
    judged = [j for j in judgements if j.counts]
    return f"{sum(j.defaults[0] <= j.measured <= j.defaults[2] for j in judged)} of {len(judged)}"


def name(j):
    strategy = {"overlap": "overlapped, one by one", "naive": "one by one after backward", "flat": "one after backward"}.get(j.row.strategy)
    run = strategy or (f"buckets of {j.row.cap.replace('MiB', ' MiB')}" if j.row.cap else "PyTorch's buckets")
    return f"{j.case.name}: {run}" if j.case.name else run


def row_of(j, with_tails):
    mark = {"calibrated": " (calibrated)", "other": " (not counted)"}.get(j.row.role, "")
    std = f" ({milliseconds(j.std)})" if j.std else ""
    cells = [name(j) + mark, milliseconds(j.measured) + std, milliseconds(j.predicted), percent(j.predicted / j.measured - 1), percent(j.plain / j.measured - 1), percent(default(j) / j.measured - 1),
             "" if j.repeated is None else percent(j.repeated / j.measured - 1)]
    if with_tails:
        cells += [f"{j.tail * 1e3:.2f}" if j.tail else "", f"{j.predicted_tail * 1e3:.2f}" if j.tail else ""]
    return cells


def tail_differences(judgements):
    return [abs(j.predicted_tail - j.tail) * 1e3 for j in judgements if j.counts and j.tail]


def interference_text(fits):
    values = sorted({f"{s:.3f}" if s == r else f"{s:.3f} and {r:.3f}" for s, r in fits.values()})
    return ", ".join(values)


def tails_judged(data):
    return data.tails.startswith("judged")


def order_text(chapter, pairs_in_order, regrets):
    of_caps = chapter.data.order == "caps"
    (right, total), (plainly, _) = pairs_in_order(chapter.groups, predicted), pairs_in_order(chapter.groups, plain)
    text = (f"Order of {'caps' if of_caps else 'configurations'}: {right} of {total} pairs that differ by more than two standard deviations, "
            f"{plainly} without interference.")
    if not of_caps:
        return text
    return text + (f" The cap predicted best is slower than the one measured best by {', '.join(unsigned(r) for r in regrets(chapter.groups, predicted))}; "
                   f"without interference {', '.join(unsigned(r) for r in regrets(chapter.groups, plain))}; the worst choice "
                   f"{', '.join(unsigned(max(j.measured for j in g) / min(j.measured for j in g) - 1) for g in chapter.groups)}.")


def variation_rows(chapter):
    rows = [["as above", interference_text(chapter.fits), mean_and_worst(errors(chapter.judgements, predicted))]]
    for variation, judged, fits in chapter.variations:
        rows.append([variation.name, interference_text(fits) if judged else "none fits", mean_and_worst(errors(judged, predicted)) if judged else "-"])
    return rows


def chapter_text(chapter, pairs_in_order, regrets, base):
    data, judgements = chapter.data, chapter.judgements
    tails = tails_judged(data) and any(j.tail for j in judgements)
    header = ["run", "measured ms (std)", "predicted ms", "error", "no interference", "defaults", "one row repeated"] + (["tail measured ms", "predicted ms"] if tails else [])
    parts = [f"## {data.title}\n", "".join(f"- {line}\n" for line in data.inputs),
             f"Calibrated: interference s = r = {interference_text(chapter.fits)}. Tails: {data.tails}. Defaults: those of `gpu: {data.gpu}`.\n", table(header, [row_of(j, tails) for j in judgements])]
    parts.append(f"Judged rows, mean and worst |error| in %: {mean_and_worst(errors(judgements, predicted))}; no interference "
                 f"{mean_and_worst(errors(judgements, plain))}; defaults {mean_and_worst(errors(judgements, default))}, {inside(judgements)} within their range; one row repeated {mean_and_worst(errors(judgements, repeated))}"
                 + (f". Tails: {sum(d := tail_differences(judgements)) / len(d):.2f} ms off on average, {max(d):.2f} at worst" if tails else "") + ".\n")
    if chapter.groups:
        parts.append(order_text(chapter, pairs_in_order, regrets) + "\n")
    if chapter.variations:
        parts.append("With other assumptions, each calibrated again; none was chosen for its figure:\n\n"
                     + table(["assumption", "s = r", "mean / worst %"], variation_rows(chapter)))
    parts.append("".join(f"- {line}\n" for line in data.remarks))
    if chapter.plot:
        parts.append(f"![Predicted iteration time against bucket cap, {data.title}; squares were measured]({chapter.plot})\n")
    parts.append(f"Provenance and doubts: [SOURCE.md]({base}/{data.folder}/SOURCE.md).\n")
    return "\n".join(part for part in parts if part)


def summary(chapters, pairs_in_order, regrets, base):
    rows = []
    for chapter in chapters:
        judged = chapter.judgements
        order = "{} of {}".format(*pairs_in_order(chapter.groups, predicted)) if chapter.groups else "-"
        worst_regret = unsigned(max(regrets(chapter.groups, predicted))) if chapter.data.order == "caps" else "-"
        tails = tail_differences(judged) if tails_judged(chapter.data) else []
        rows.append([f"[{chapter.data.title}]({base}/{chapter.data.folder}/SOURCE.md)", str(sum(j.counts for j in judged)), interference_text(chapter.fits),
                     mean_and_worst(errors(judged, predicted)), mean_and_worst(errors(judged, plain)), mean_and_worst(errors(judged, default)), inside(judged), mean_and_worst(errors(judged, repeated)),
                     f"{sum(tails) / len(tails):.2f}" if tails else "-", order, worst_regret])
    header = ["set", "judged rows", "s = r", "error, mean / worst %", "no interference", "defaults", "within their range", "one row repeated", "tails off, mean ms", "pairs in order", "largest regret"]
    return table(header, rows)


def render(chapters, pairs_in_order, regrets, base):
    """`base`: the way from the page to the folder of the sets."""
    parts = [HEAD.replace("{base}", base), summary(chapters, pairs_in_order, regrets, base)]
    return "\n".join([*parts, *(chapter_text(chapter, pairs_in_order, regrets, base) for chapter in chapters)])
