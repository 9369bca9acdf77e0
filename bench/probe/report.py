"""What a record of the probe says: constants fitted to it beside those of the cost model, and which predictions fail."""
FORMAT = "catena probe 1"
ALLOWED = 0.15  # between a predicted and a measured time: beyond it the picker may prefer a slower instance


def rows(record, step, **having):
    """The lines of a program with these values."""
    found = record["steps"].get(step, {}).get("found", [])
    return [line for line in found if all(line.get(key) == value for key, value in having.items())]


def only(record, step, key, **having):
    found = rows(record, step, **having)
    return found[0][key] if found else None


def steady(record):
    """Bytes in a us: what the longer of two reads takes longer."""
    reads = {line["bytes"]: line["us"] for line in rows(record, "bandwidth", what="read")}
    if len(reads) < 2:
        return None
    longest, shorter = sorted(reads)[-1], sorted(reads)[-2]
    return (longest - shorter) / (reads[longest] - reads[shorter])


def node(record):
    return only(record, "graph", "us", of="empty", programmatic=False, carve_out=-1)


def loaded_latency(record):
    """With the fewest bytes in flight that reach nine tenths of the bandwidth."""
    busy = sorted(rows(record, "latency", of="busy memory"), key=lambda line: line["in_flight_per_sm"])
    best = max((line["bytes_per_us"] for line in busy), default=0)
    return next((line["us"] for line in busy if line["bytes_per_us"] >= 0.9 * best), None)


def cold_share(record):
    """Of the steady bandwidth, when 10 MB are read behind a node and the first latency."""
    us, first = only(record, "bandwidth", "us", what="read", bytes=10_000_000), loaded_latency(record)
    if None in (us, first, node(record), steady(record)):
        return None
    return 1e7 / steady(record) / (us - node(record) - first)


def l2_speedup(record):
    line = rows(record, "bandwidth", what="read of L2")
    if not line or steady(record) is None or node(record) is None:
        return None
    return line[0]["bytes"] / (line[0]["us"] - node(record)) / steady(record)


def cluster(record):
    with_barriers = only(record, "cluster", "us", blocks=4, relaxed=False)
    without = only(record, "cluster", "us", blocks=1)
    return None if None in (with_barriers, without) else with_barriers - without


FITS = {
    "bytes_per_us": steady,
    "cold_share": cold_share,
    "node_us": node,
    "memory_latency_us": lambda record: only(record, "latency", "us", of="memory"),
    "loaded_latency_us": loaded_latency,
    "l2_speedup": l2_speedup,
    "shared_cycles": lambda record: only(record, "stalls", "cycles", of="shared memory, 4 bytes"),
    "shared_16_cycles": lambda record: only(record, "stalls", "cycles", of="shared memory, 16 bytes"),
    "mma_cycles": lambda record: only(record, "stalls", "cycles", of="mma"),
    "cluster_us": cluster,
}


def verdict(value, low, high):
    if value is None:
        return "not measured"
    if low <= value <= high:
        return "holds"
    return f"FAILS, {100 * (value / (high if value > high else low) - 1):+.0f} % beyond its bound"


def constants(record):
    lines = [f"{'constant':24} {'model':>12} {'from':>12} {'to':>12} {'fitted':>12}  unit, verdict"]
    for c in rows(record, "model"):
        if "constant" not in c:
            continue
        value = FITS[c["constant"]](record)
        shown = "" if value is None else f"{value:.4g}"
        lines.append(f"{c['constant']:24} {c['value']:12.4g} {c['low']:12.4g} {c['high']:12.4g} {shown:>12}  "
                     f"{c['unit']}: {verdict(value, c['low'], c['high'])}")
    return lines


def quantizes(one):
    """Instances that quantize the activation too are not compared with others."""
    return "_deferred" in one["instance"]


def times(record):
    """Of each case the instance that the planner picks among those that ran, and the fastest of its kind."""
    lines = [f"{'matmul':22} {'predicted us':>12} {'measured us':>12} {'off':>7}  verdict"]
    for step, result in record["steps"].items():
        if not step.startswith("matmul ") or "found" not in result:
            continue
        found = result["found"]
        ran = [one for one in found["instances"] if one["verdict"] == "agrees"]
        picked = (next((one for one in ran if one["picked"]), None)  # it may be of a set of formats, not built here
                  or min(ran, key=lambda one: one["predicted_us"], default=None))
        wrong = [one["instance"] for one in found["instances"] if one["verdict"] == "failed"]
        if wrong:
            lines.append(f"{found['case']:22} WRONG RESULTS: {', '.join(wrong)}")
        if picked is None or picked["time"] != "measured":
            lines.append(f"{found['case']:22} not measured on the {found['machine']}")
            continue
        off = picked["us"] / picked["predicted_us"] - 1
        fastest = min((one for one in ran if quantizes(one) == quantizes(picked)), key=lambda one: one["us"])
        better = picked["us"] / fastest["us"] - 1
        lines.append(f"{found['case']:22} {picked['predicted_us']:12.2f} {picked['us']:12.2f} {100 * off:+6.0f}%  "
                     f"{'holds' if abs(off) <= ALLOWED else 'FAILS'}: {picked['instance']}"
                     + (f"; {fastest['instance']} is {100 * better:.0f} % faster" if better > 0.01 else ""))
    return lines


def as_text(line):
    return "  ".join(f"{key} {value}" for key, value in line.items() if key != "what")


def text(record):
    """For people; the record has everything."""
    parts = [("provenance", [f"{key}: {value}" for key, value in record["provenance"].items()])]
    parts += [("constants of the cost model", constants(record)), ("predicted times", times(record))]
    for step in ("copies", "graph", "cluster", "wgmma", "capture"):
        parts.append((step, [as_text(line) for line in rows(record, step)]))
    counted = [result["found"] for step, result in record["steps"].items()
               if step.startswith("counters") and "found" in result]
    parts.append(("counters", [as_text(found) for found in counted]))
    wrong = [line for _, lines in parts for line in lines if "FAILS" in line]
    undone = [f"{step}: {result.get('failed') or result['cut']}" for step, result in record["steps"].items()
              if "found" not in result]
    parts += [("failed or cut", undone), (f"{len(wrong)} predictions fail", [line.split(";")[0] for line in wrong])]
    return "\n".join("\n".join([f"== {title}", *lines, ""]) for title, lines in parts if lines)
