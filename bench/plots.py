"""The plots of a record: a roofline, and bars against floor and peers. draw() gives (name, title, svg) of each."""
import io

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from records import OURS, geometric_mean

matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "catena", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.axisbelow": True, "axes.spines.top": False,
                            "axes.spines.right": False})
COLORS = {OURS: "#0b6e4f", "floor": "#9aa0a6"}
PEER_COLORS = ["#d1495b", "#edae49", "#30638e", "#8d5a97", "#6d6875", "#b56576"]


def svg_of(figure, not_measured):
    if not_measured:
        figure.text(0.5, 0.5, not_measured, rotation=20, ha="center", va="center", fontsize=34, color="#c43",
                    alpha=0.25)
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()


def roofline(cases, not_measured):
    """Bytes a microsecond over bytes: the floor rises from the node's cost to the read bandwidth."""
    timed = [c for c in cases if OURS in c["times"] and c["bytes"] > 0]
    if not timed:
        return None
    figure, axes = plt.subplots(figsize=(10, 5))
    node = geometric_mean([c["floor"]["empty_node_us"] for c in timed])
    read = geometric_mean([c["floor"]["read_bytes_per_us"] for c in timed])
    least, most = (f(c["bytes"] for c in timed) for f in (min, max))
    sizes = [least / 2 * (4 * most / least) ** (i / 200) for i in range(201)]
    for launches, dashes in ((1, "-"), (2, "--")):
        axes.plot(sizes, [s / (launches * node + s / read) / 1e3 for s in sizes], dashes, color=COLORS["floor"],
                  label=f"attainable, {launches} launch{'es' if launches > 1 else ''}")
    markers = {"instance": ".", "chain": "o", "layer": "D"}
    for kind in markers:
        of_kind = [c for c in timed if c["kind"] == kind]
        if of_kind:
            axes.scatter([c["bytes"] for c in of_kind], [c["bytes"] / c["times"][OURS]["median_us"] / 1e3 for c in of_kind],
                         marker=markers[kind], s=60 if kind == "layer" else 18, color=COLORS[OURS], alpha=0.8,
                         label=f"Catena, {kind}s")
    for color, peer in zip(PEER_COLORS, sorted({p for c in timed for p in c["times"] if p.startswith("ggml")})):
        beside = [c for c in timed if peer in c["times"]]
        axes.scatter([c["bytes"] for c in beside], [c["bytes"] / c["times"][peer]["median_us"] / 1e3 for c in beside],
                     marker="x", s=18, color=color, alpha=0.8, label=peer)
    axes.axhline(read / 1e3, color=COLORS["floor"], linewidth=0.8)
    axes.set(xscale="log", xlabel="bytes that the case must move", ylabel="GB/s", ylim=(0, 1.08 * read / 1e3))
    axes.legend(frameon=False, fontsize=8)
    return "roofline", "Roofline: bytes over time", svg_of(figure, not_measured)


def bars(cases, kind, columns, not_measured):
    """The floor, Catena and every peer, each as a share of Catena's time by the same clock."""
    shown = [c for c in cases if c["kind"] == kind and c["columns"] == columns and OURS in c["times"]]
    if not shown:
        return None
    peers = sorted({p for c in shown for p in c["ratios"]})
    figure, axes = plt.subplots(figsize=(10, 0.9 + len(shown) * (0.16 * (2 + len(peers)) + 0.12)))
    step = 0.85 / (2 + len(peers))
    named = set()
    for at, c in enumerate(shown):
        series = [("floor", c["attainable_us"] / c["times"][OURS]["median_us"], COLORS["floor"]), (OURS, 1.0, COLORS[OURS])]
        series += [(p, c["ratios"].get(p), PEER_COLORS[i % len(PEER_COLORS)]) for i, p in enumerate(peers)]
        for i, (name, value, color) in enumerate(series):
            if value is not None:
                axes.barh(at + (i + 0.5) * step - 0.425, value, height=0.9 * step, color=color,
                          label=None if name in named else name)
                named.add(name)
    axes.set_yticks(range(len(shown)), [f"{c['model']}\n{c['case']}" for c in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(1, color="#444", linewidth=0.8)
    axes.set(xlabel="time, Catena's = 1 (a peer beside Catena by its own clock)")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    name = f"{kind}s.columns{columns}"
    return name, f"{kind.capitalize()}s, {columns} column{'s' if columns > 1 else ''}", svg_of(figure, not_measured)


def draw(cases, not_measured):
    drawings = [roofline(cases, not_measured)]
    for kind in ("layer", "chain"):
        for columns in sorted({c["columns"] for c in cases if c["kind"] == kind}):
            drawings.append(bars(cases, kind, columns, not_measured))
    return [d for d in drawings if d]
