#!/usr/bin/env python3
"""ab_page.py RECORD OUT: what scripts/llama-bench recorded, as a page that needs nothing else (OUT/page.html) and as a
table in Markdown (OUT/table.md)."""
import html
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import ab_record
from ab_record import LIMIT, Problem, Speed, is_speed, judged, logits_of, number, served, why_no_row
from style import STYLE

HEAD = ("model", "test", "off t/s", "on t/s", "on / off", "off, of copy", "on, of copy", "logits")

MEANINGS = {
    "off, on": "llama.cpp without Catena and with it: one build, one process, one copy of the weights, two contexts that "
               "differ in CATENA_ENABLED alone. Flash attention, CUDA graphs and ggml-cuda's dependent launches are on "
               "for both.",
    "pp512": "a prompt of 512 random tokens, as llama-bench defines it. Tokens a second.",
    "tg128": "128 single tokens from an empty cache, as llama-bench defines it.",
    "tg128x4": "128 steps of four sequences, a token each, as llama-batched-bench defines it. Tokens of all four.",
    "t/s": "the median of the turns, behind it half the distance of their quartiles. Off and on take turns, and each "
           "begins every other turn. A run before the turns is not timed.",
    "on / off": "the median of the turns' ratios: above 1 Catena is faster.",
    "of copy": "bytes of the weights that a step reads, times steps a second, divided by the bandwidth of a copy "
               "(bytes read and written) that is timed in the same turns. Of experts those count that tokens draw on "
               "average if they draw at random. Caches and activations are not counted.",
    "logits": "the squared difference of the logits of on and off, relative to their squares (NMSE), is at most "
              f"{LIMIT} times that of the yardstick: off beside off with noise between the layers, as large as the "
              "rounding of activations to 8 bits. The middle row of logits decides, and without experts the worst "
              "row too. If they differ by more, the speed does not count.",
    "mean KL": "the divergence of Kullback and Leibler of on from off, in nats.",
    "same top": "how often the same token is the likeliest.",
    "slowest steps": "Catena's launches that take the longest, by the median of the decode steps: the node where each is "
                     "launched, its chain, its activation and its matrices. Events stand between the launches, so "
                     "nothing overlaps: compare steps with each other, not with a token. CUDA graphs are off.",
    "attainable": "one launch and the step's bytes at the bandwidth that Catena's registry has for the GPU.",
}


def percent(share):
    return "" if share is None else f"{100 * share:.0f} %"


def speed_text(value, spread):
    return f"{value:.1f} \u00b1{100 * spread:.1f} %"


def rows(record):
    """(cells of HEAD, why the row does not count) of each model and test."""
    for name, model in record["models"].items():
        for stage in filter(is_speed, model["stages"]):
            why = why_no_row(model, stage)
            label = f"{name} {model['quant']}"
            if "failed" in model["stages"][stage]:
                yield [label, stage, "", "", "", "", "", ""], why
                continue
            s = Speed(model, stage)
            yield [label, stage, speed_text(s.off, s.off_spread), speed_text(s.on, s.on_spread),
                   "" if why else f"{s.ratio:.3f} \u00b1{100 * s.ratio_spread:.1f} %", percent(s.share_of_copy(s.off)),
                   percent(s.share_of_copy(s.on)), "" if why else "agree"], why


def markdown(record):
    lines = [f"**{warning(record)}**\n"] if record["simulated"] else []
    lines += [f"{provenance_text(record)}\n", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for cells, why in rows(record):
        lines.append("| " + " | ".join([*cells[:-1], f"FAILED: {why}" if why else cells[-1]]).replace("\n", " ") + " |")
    return "\n".join(lines) + "\n"


def warning(record):
    return "Simulated: no GPU ever took these times." if record["simulated"] else ""


def provenance_text(record):
    return ", ".join(f"{key} {value}" for key, value in record["provenance"].items() if value)


def when(record):
    dates = sorted(result["when"] for m in record["models"].values() for result in m["stages"].values())
    return f"{dates[0]} to {dates[-1]}" if dates else "nothing is measured yet"


def cell(text, kind=""):
    return f"<td{f' class={kind}' if kind else ''}>{html.escape(str(text))}</td>"


def table(head, body):
    return ('<div class="wide"><table><thead><tr>' + "".join(f"<th>{html.escape(h)}</th>" for h in head) +
            "</tr></thead><tbody>" + "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in body) + "</tbody></table></div>")


def speed_table(record):
    body = []
    for cells, why in rows(record):
        if why:
            body.append([*map(cell, cells[:-1]),
                         f'<td class="why"><span class=lost>FAILED</span>: {html.escape(why)}</td>'])
        else:
            ratio = float(cells[4].split()[0])
            body.append([*map(cell, cells[:4]), cell(cells[4], "won" if ratio > 1 else "lost"), *map(cell, cells[5:])])
    return table(HEAD, body)


def bars(record):
    """The ratios as bars, beside a line at 1."""
    shown = [(f"{name} {stage}", Speed(m, stage).ratio) for name, m in record["models"].items()
             for stage in filter(is_speed, m["stages"]) if why_no_row(m, stage) is None]
    if not shown:
        return ""
    left, width, step = 210, 560, 22
    scale = width / max(1.0, *(ratio for _, ratio in shown)) / 1.1
    parts = []
    for at, (label, ratio) in enumerate(shown):
        y, color = at * step + 4, "#0b6e4f" if ratio > 1 else "#d1495b"
        parts.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{html.escape(label)}</text>'
                     f'<rect x="{left}" y="{y}" width="{ratio * scale:.1f}" height="16" fill="{color}"/>'
                     f'<text x="{left + ratio * scale + 5:.1f}" y="{y + 13}">{ratio:.2f}x</text>')
    one = left + scale
    height = len(shown) * step + 8
    return (f'<figure><svg viewBox="0 0 {left + width + 60} {height}" font-size="12" font-family="sans-serif">' +
            "".join(parts) + f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{height}" stroke="#444"/></svg></figure>')


def logits_table(record):
    body = []
    for name, model in record["models"].items():
        logits = logits_of(model)
        if logits is None or "failed" in logits:
            why = (logits or {}).get("failed", "not measured yet")
            body.append([cell(name), f'<td class="why" colspan=8>{html.escape(why)}</td>'])
            continue
        passed, _ = judged(model, logits)
        for way, found in logits["ways"].items():
            on, yardstick = found["on"], found["yardstick"]
            numbers = (on["median_nmse"], on["worst_nmse"], yardstick["median_nmse"], yardstick["worst_nmse"],
                       on["mean_divergence"])
            body.append([cell(f"{name}, {way}"), cell(on["rows"]), *(cell(number(n)) for n in numbers),
                         cell(percent(on["same_top"])),
                         cell("agree" if passed else "differ", "won" if passed else "lost")])
    head = ("model, decoded as", "rows", "median NMSE", "worst NMSE", "yardstick's median", "yardstick's worst",
            "mean KL", "same top", "logits")
    return table(head, body)


def perplexity_table(record):
    known = {name: logits["perplexity"] for name, m in record["models"].items()
             if (logits := logits_of(m)) and "perplexity" in logits}
    body = [[cell(name), cell(f"{p['off']:.2f}"), cell(f"{p['on']:.2f}")] for name, p in known.items()]
    return table(("perplexity of the random tokens", "off", "on"), body) if body else ""


def step_tables(record):
    parts = []
    for name, model in record["models"].items():
        for stage, result in model["stages"].items():
            if not stage.startswith("steps"):
                continue
            if "failed" in result:
                parts.append(f"<p>{html.escape(f'{name} {stage}')}: <span class=lost>FAILED</span>: "
                             f"{html.escape(result['failed'])}</p>")
                continue
            body = [[f"<td>{html.escape(s['step'])}<br><span class=why>{html.escape(s['instance'])}</span></td>",
                     cell(f"{s['us']:.2f}"), cell(f"{s['mean_us']:.2f}"),
                     cell(f"{100 * s['us'] / result['us']:.1f} %"), cell(f"{s['bytes'] / 1e6:.2f}"),
                     cell(f"{s['attainable_us']:.2f}")] for s in result["slowest"]]
            sequences = ab_record.sequences_of(stage)
            parts.append(f"<h3>{html.escape(name)}, {sequences} sequence{'s' if sequences > 1 else ''}</h3>"
                         f"<p>The slowest {len(body)} of {result['steps']} steps, which take {result['us']:.0f} us "
                         f"together, in {result['walks']} decode steps. {html.escape(served(result))}</p>" +
                         table(("step, instance", "median us", "mean us", "of all", "MB", "attainable us"), body))
    return "".join(parts)


def page(record):
    facts = {**{k: v for k, v in record["provenance"].items() if v}, "measured": when(record)}
    facts["environment"] = " ".join(f"{k}={v}" for k, v in record["provenance"]["environment"].items()) or "nothing set"
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
             f"<title>llama.cpp with Catena</title><style>{STYLE}</style><h1>llama.cpp, with Catena and without</h1>"]
    if record["simulated"]:
        parts.append(f"<p class=warning>{warning(record)}</p>")
    if failed := sum(why is not None for _, why in rows(record)):
        parts.append(f"<p class=warning>{failed} rows do not count; they say why.</p>")
    parts += [description(facts), "<h2>Speed</h2>", speed_table(record), bars(record), "<h2>Logits</h2>",
              logits_table(record), perplexity_table(record), "<h2>Slowest steps</h2>", step_tables(record), "<h2>What the numbers mean</h2>",
              description(MEANINGS)]
    return "\n".join(parts)


def description(facts):
    items = (f"<dt>{html.escape(k)}</dt><dd>{html.escape(str(v))}</dd>" for k, v in facts.items())
    return f"<dl>{''.join(items)}</dl>"


def write(record, out):
    for name, text in (("page.html", page(record)), ("table.md", markdown(record))):
        (Path(out) / name).write_text(text, encoding="utf-8")
        print(Path(out) / name)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        write(ab_record.read(sys.argv[1]), sys.argv[2])
    except (Problem, OSError) as problem:
        sys.exit(f"ab_page.py: {problem}")
