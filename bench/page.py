#!/usr/bin/env python3
"""page.py RECORD... OUT: what bench_kernels recorded, as one page that needs nothing else (OUT/index.html), and its
plots as files (OUT/*.svg). The first record counts; of the others the peers that it lacks are shown, too."""
import html
import os
import sys

sys.dont_write_bytecode = True
from records import OURS, Record, fail, geometric_mean, key, label, ratios, share_of_attainable, targets
from style import STYLE

try:
    import plots
except ImportError as error:
    fail(f"page.py needs matplotlib ({error}): python3 -m pip install matplotlib")


def merged(records):
    """The first record's cases, with the ratios to peers that only another record has."""
    cases = [dict(case, ratios=ratios(case)) for case in records[0].cases]
    by_key = {key(case): case for case in cases}
    for other in records[1:]:
        if other.provenance["gpu"] != records[0].provenance["gpu"]:
            fail(f"{other.path} is of another GPU than {records[0].path}")
        for case in other.cases:
            if key(case) in by_key:
                known = by_key[key(case)]["ratios"]
                known.update({p: r for p, r in ratios(case).items() if p not in known})
    return cases


def ratio_cell(value):
    return "<td></td>" if value is None else f'<td class="{"lost" if value < 1 else "won"}">{value:.2f}x</td>'


def table(cases, peers):
    head = ["case", "us", "spread", "attainable us", "of attainable", "launches", *peers]
    rows = []
    for case in cases:
        ours = case["times"].get(OURS)
        cells = [f"<td>{html.escape(label(case))}</td>"]
        if ours:
            cells += [f"<td>{ours['median_us']:.2f}</td><td>{100 * ours['spread']:.1f} %</td>"
                      f"<td>{case['attainable_us']:.2f}</td><td>{100 * share_of_attainable(case):.0f} %</td>"
                      f"<td>{case['launches']}</td>"]
            cells += [ratio_cell(case["ratios"].get(peer)) for peer in peers]
        else:
            why = case["missing"].get(OURS, "no time")
            cells += [f'<td class="why" colspan="{5 + len(peers)}">{html.escape(why)}</td>']
        rows.append("<tr>" + "".join(cells) + "</tr>")
    return ('<div class="wide"><table><thead><tr>' + "".join(f"<th>{html.escape(h)}</th>" for h in head) +
            "</tr></thead><tbody>" + "\n".join(rows) + "</tbody></table></div>")


def means(cases, peers):
    """Geometric means of the ratios over chains, by columns."""
    columns = sorted({c["columns"] for c in cases if c["kind"] == "chain"})
    rows = []
    for n in columns:
        chains = [c for c in cases if c["kind"] == "chain" and c["columns"] == n]
        shares = [share_of_attainable(c) for c in chains if share_of_attainable(c)]
        cells = f"<td>{n}</td><td>{len(shares)}</td><td>" + (f"{100 * geometric_mean(shares):.0f} %" if shares else "") + "</td>"
        for peer in peers:
            known = [c["ratios"][peer] for c in chains if peer in c["ratios"]]
            cells += ratio_cell(geometric_mean(known))
        rows.append(f"<tr>{cells}</tr>")
    head = ["columns", "chains", "of attainable", *peers]
    return ("<table><thead><tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr></thead><tbody>" +
            "".join(rows) + "</tbody></table>")


def target_table(cases):
    rows = []
    for what, wanted, found, missed in targets(cases):
        if found is None:
            verdict = '<td class="why">not measured</td>'
        elif missed:
            more = f", and {len(missed) - 3} more" if len(missed) > 3 else ""
            verdict = f'<td class="why"><span class=lost>missed</span>: {html.escape("; ".join(missed[:3]) + more)}</td>'
        else:
            verdict = '<td class="won">met</td>'
        rows.append(f"<tr><td>{html.escape(what)}</td><td>{wanted}</td><td>{html.escape(found or '')}</td>{verdict}</tr>")
    return ('<div class="wide"><table><thead><tr><th>what</th><th>wanted</th><th>found</th><th>verdict</th></tr></thead><tbody>' +
            "".join(rows) + "</tbody></table></div>")


def provenance(record):
    rows = [("record", os.path.basename(record.path)), *record.provenance.items()]
    clocks = record.provenance["clocks_mhz"]
    known = f"SM {clocks['sm']} MHz, memory {clocks['memory']} MHz, reading memory before the first case"
    text = {"clocks_mhz": known if clocks["sm"] else "not known"}
    return "<dl>" + "".join(f"<dt>{html.escape(k.replace('_mhz', ''))}</dt><dd>{html.escape(text.get(k, str(v) or 'none'))}</dd>"
                            for k, v in rows) + "</dl>"


def missing(records):
    out = {}
    for record in records:
        out.update(record.missing)
        for case in record.cases:
            for who, why in case["missing"].items():
                if who != OURS:
                    out.setdefault(f"{who}, {label(case)}", why)
    if not out:
        return ""
    items = "".join(f"<li><b>{html.escape(who)}</b>: {html.escape(why)}</li>" for who, why in sorted(out.items()))
    return f"<h2>Peers that were not there</h2><ul>{items}</ul>"


def main(paths, out):
    records = [Record(path) for path in paths]
    cases = merged(records)
    peers = sorted({peer for case in cases for peer in case["ratios"]})
    not_measured = next((record.not_measured for record in records if record.not_measured), "")
    drawings = plots.draw(cases, not_measured)
    os.makedirs(out, exist_ok=True)
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
             f"<title>Catena, {not_measured or 'measured'}</title><style>{STYLE}</style><h1>Catena beside the floor and its peers</h1>"]
    if not_measured:
        parts.append(f"<p class=warning>{not_measured.capitalize()}: no GPU ever took these times.</p>")
    if failed := sum(case.get("wrong", False) for case in cases):
        parts.append(f"<p class=warning>Failed, or computed something else than ggml, and in no mean and target: {failed} of "
                     f"{len(cases)} cases. Their rows say how.</p>")
    parts += [provenance(record) for record in records]
    of_turns = "" if not_measured else ", both measured in the same turns"
    parts.append("<p>Attainable is an empty graph node for each launch that the case is allowed, and its bytes at the read "
                 f"bandwidth{of_turns}. A ratio says how many times as long the peer takes.</p>")
    parts += ["<h2>Targets</h2>", target_table(cases)]
    if any(c["kind"] == "chain" for c in cases):
        parts += ["<h2>Chains, geometric means</h2>", means(cases, peers)]
    for name, title, svg in drawings:
        with open(os.path.join(out, name + ".svg"), "w", encoding="utf-8") as file:
            file.write(svg)
        figure = f"<figure>{svg[svg.index('<svg'):]}</figure>"
        if name == "roofline" or name.endswith("columns1"):
            parts.append(f"<h2>{html.escape(title)}</h2>{figure}")
        else:
            parts.append(f"<details><summary>{html.escape(title)}</summary>{figure}</details>")
    for kind, title in (("layer", "Layers"), ("chain", "Chains"), ("instance", "Instances")):
        of_kind = [c for c in cases if c["kind"] == kind]
        if not of_kind:
            continue
        parts.append(f"<h2>{title}</h2>")
        if kind == "layer":
            said = {c["model"]: c["excluded"] for c in of_kind if c.get("excluded")}
            parts += [f"<p>{html.escape(m)}, in no side's time: {html.escape(ops)}.</p>" for m, ops in said.items()]
        parts.append(table(of_kind, [p for p in peers if any(p in c["ratios"] for c in of_kind)]))
    parts.append(missing(records))
    page = os.path.join(out, "index.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(parts))
    print(page)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        fail(__doc__)
    try:
        main(sys.argv[1:-1], sys.argv[-1])
    except OSError as error:
        fail(f"{sys.argv[-1]}: cannot be written: {error}")
