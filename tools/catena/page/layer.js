// The graph, a section per distinct layer. A section shows one of its layers, node by node; in the
// gutter each chain is a band from its first step to the last reader of what it quantized.
const graph = document.getElementById("graph");
const ROW = 26, LANE = 18;
let showViews = false;

function drawSections() {
    for (const s of sections) {
        s.shown = s.layers[0];
        s.body = h("div.body", {hidden: ""});
        s.head = h("button.head", {
            type: "button",
            "aria-expanded": "false",
            onclick: () => s.body.hidden ? showLayer(s.shown, false) : closeSection(s)
        });
        s.element = h("article.section", {}, s.head, s.body);
        graph.append(s.element);
        drawHead(s);
    }
}

function drawHead(s) {
    const l = s.shown;
    const numbers = format.ranges(s.layers.map(l => l.number));
    const count = s.layers.length;
    const which = l.number === null ? `nodes ${l.first} to ${l.last - 1}`
        : `layer${count > 1 ? "s" : ""} ${numbers}`;
    fill(
        s.head, h("span.kind", {}, s.label), h("span.which", {}, which),
        count > 1 ? h("span.times", {}, `× ${count}`) : "", h("span.difference", {}, difference(s)),
        h("span.numbers", {}, h("s", {title: "launches, node by node"}, `${l.before}`), " → ",
          h("b", {title: "launches, planned"}, `${l.launches.length}`)));
}

// What tells a variant from the first of its kind.
function difference(s) {
    if (s.model === s) return "";
    const mine = s.layers[0].nodes.filter(n => n.launches);
    const first = s.model.layers[0].nodes.filter(n => n.launches);
    const weight = n => n.weights.map(w => w.type).join();
    const out = new Map();
    mine.forEach((n, k) => {
        if (first[k] && weight(n) !== weight(first[k])) {
            const text = `${weight(n)} for ${weight(first[k])}`;
            out.set(text, (out.get(text) || 0) + 1);
        }
    });
    const said = [...out].map(([text, n]) => n > 1 ? `${text}, ${n} times` : text);
    const more = (what, a, b) => {
        if (a !== b) said.push(`${a} ${what}, not ${b}`);
    };
    const stepCount = l => l.launches.filter(x => x.step).length;
    const reasonCount = l => l.nodes.reduce((sum, n) => sum + n.reasons.length, 0);
    more("steps", stepCount(s.layers[0]), stepCount(s.model.layers[0]));
    more("nodes left", reasonCount(s.layers[0]), reasonCount(s.model.layers[0]));
    const places = l =>
        l.launches.filter(x => x.step)
            .map(({step}) => step.instance + step.nodes.map(n => `,${n.i - step.launch_at}`));
    const model = places(s.model.layers[0]);
    const other = places(s.layers[0]).filter((p, k) => p !== model[k]).length;
    if (!said.length)
        said.push(other === 1 ? "a step covers other nodes" : `${other} steps cover other nodes`);
    return `unlike ${s.model.label}: ${said.join("; ")}`;
}

function closeSection(s) {
    s.body.hidden = true;
    s.body.replaceChildren();
    s.head.setAttribute("aria-expanded", "false");
}

function showLayer(l, scroll) {
    const s = l.section;
    for (const other of sections)
        if (other !== s && !other.body.hidden) closeSection(other);
    s.shown = l;
    s.head.setAttribute("aria-expanded", "true");
    s.body.hidden = false;
    drawHead(s);
    drawBody(s);
    markMap(l);
    if (scroll) s.element.scrollIntoView({block: "start"});
}

// The rows of a layer: nodes in their order, and each step's header over the first node that it
// covers there.
function rowsOf(l) {
    const header = new Map();
    for (const n of l.nodes)
        for (const s of n.starts) {
            const inside = s.nodes.filter(m => m.layer === l).map(m => m.i);
            const at = Math.min(n.i, ...inside);
            header.set(at, [...(header.get(at) || []), s]);
        }
    const rows = [];
    for (const n of l.nodes) {
        for (const step of header.get(n.i) || []) rows.push({step});
        if (n.launches || showViews) rows.push({node: n});
    }
    return rows;
}

// The layer that stands `by` places from this one among those that look alike, round and round.
function alike(l, by) {
    const all = l.section.layers;
    return all[(all.indexOf(l) + by + all.length) % all.length];
}

const layerNodes = l => `${layerTitle(l)}: nodes ${l.first} to ${l.last - 1}`;

function drawBody(s) {
    const l = s.shown, rows = rowsOf(l);
    const lanes = drawGutter(l, rows);
    const list = h(
        "div.rows", {style: `--gutter:${lanes.width}px`}, lanes.svg,
        rows.map(r => r.step ? stepRow(r.step) : nodeRow(r.node)));
    list.onclick = event => {
        const row = event.target.closest("[data-step],[data-node]");
        if (row) select(chosenBy(row));
    };
    const go = by => showLayer(alike(s.shown, by), false);
    const choose = h(
        "select", {"aria-label": "Layer to show", onchange: e => showLayer(layers[e.target.value], false)},
        s.layers.map(o => h("option", {value: o.i, selected: o === l ? "" : null}, layerNodes(o))));
    const button = (text, title, by) => h("button", {type: "button", title, onclick: () => go(by)}, text);
    const bar = s.layers.length === 1 ? layerNodes(l) : [
        button("‹", "The layer before, of those that look alike", -1), choose,
        button("›", "The next layer of those that look alike", 1)
    ];
    fill(s.body, h("div.bar", {}, bar), list);
    markSelected();
}

function stepRow(s) {
    return h(
        `button.row.steprow.hue${s.of.hue}`, {type: "button", "data-step": s.i},
        h("span.at", {title: `launched at node ${s.launch_at}`}, `▶ ${s.launch_at}`),
        h("span.instance", {title: s.instance}, instanceName(s.instance)),
        h("span.work", {}, s.problem[0][1]),
        h("span.cost", {}, `${format.bytes(s.bytes)} · `, timeText(s)));
}

// What a step takes: measured beside predicted, and by how much it is slower.
function timeText(s) {
    if (!s.measured) return `${format.us(s.predicted_us)}${report.measured ? " predicted" : ""}`;
    const times = [h("b", {}, format.us(s.us)), ` (${format.us(s.predicted_us)})`];
    if (s.slower) times.push(h("span.mark.slow", {title: "measured, over the prediction"}, ratio(s)));
    if (s.measured.instance) times.push(h("span.mark.other", {title: `measured as ${s.measured.instance}`}, "as another"));
    return h("span", {title: "measured, and predicted in parentheses"}, times);
}
const ratio = s => `${(s.us / s.predicted_us).toPrecision(3)} ×`;

// A name without the arch, which the page says once; what is computed stands out.
function instanceName(text) {
    const [chain, formats, policy] = text.split(".");
    return [h("b", {}, chain), formats ? `.${formats}` : "", policy ? h("small", {}, `.${policy}`) : ""];
}

function nodeRow(n) {
    const kind = n.step ? `.covered.hue${n.step.of.hue}` : n.launches ? ".engine" : ".view";
    const weights = n.weights.map(w => `${w.type} ${format.shape(w)}`).join(", ");
    return h(
        `button.row.noderow${kind}`, {type: "button", "data-node": n.i},
        h("span.at", {}, `${n.i}`), h("span.op", {}, n.op), h("span.name", {title: n.name}, n.name),
        h("span.shape", {}, weights ? h("em", {}, weights) : "", ` ${n.type} ${format.shape(n)}`),
        h("span.marks", {}, marks(n)));
}

function marks(n) {
    const out = [];
    const mark = (kind, title, text) => out.push(h(`span.mark${kind}`, {title}, text));
    if (n.output) mark("", "flagged OUTPUT", "output");
    if (n.reads) mark(n.reads === "f32" ? "" : ".q8", `reads its activation as ${n.reads}`, n.reads);
    if (n.emits) mark(".q8", "written in one pass", `writes ${n.emits}`);
    if (!n.step && n.quantized)
        mark(".bad", "the engine quantizes the activation for this matmul alone", "quantized here");
    if (n.reasons.length)
        mark(".why", n.reasons.map(r => r.sentence).join("\n"), n.step ? "split" : "left");
    return out;
}

// The nodes on a chain's band: its steps', and the one whose value another chain's step quantizes.
const coveredBy = c =>
    [...(c.steps.includes(c.maker) || !c.made ? [] : [c.made]), ...c.steps.flatMap(s => s.nodes)];

// The gutter as SVG: a lane per chain, shared by chains that do not meet.
function drawGutter(l, rows) {
    const at = new Map();
    rows.forEach((r, k) => at.set(r.step || r.node, k));
    const rowsAt = list => list.map(x => at.get(x)).filter(k => k !== undefined);
    const bands = [];
    const here = l.nodes.flatMap(n => [...n.starts, ...(n.step ? [n.step] : [])].flatMap(
        s => [s.of, ...s.makes.map(c => chains[c])]));
    for (const c of new Set(here)) {
        const launched = [...new Set([c.maker, ...c.steps])];
        const covered = coveredBy(c);
        const own = rowsAt([...launched, ...covered]), plain = rowsAt(c.plain);
        if (!own.length) continue;
        const reach = [...covered, ...launched.map(s => nodes[s.launch_at])].map(n => n.i);
        const above = Math.min(...reach) < l.first, below = Math.max(...reach) >= l.last;
        const first = above ? -1 : Math.min(...own), last = below ? rows.length : Math.max(...own);
        bands.push({c, plain, first, last, end: Math.max(last, ...plain)});
    }
    bands.sort((a, b) => a.first - b.first);
    const free = [];
    for (const b of bands) {
        b.lane = free.findIndex(end => end < b.first);
        if (b.lane < 0) b.lane = free.length;
        free[b.lane] = b.end;
    }
    const width = Math.max(free.length, 1) * LANE + 14;
    const y = k => (k + 0.5) * ROW;
    let shapes = "";
    const add = (tag, kind, rest) => shapes += `<${tag} class="${kind}" ${rest}/>`;
    for (const b of bands) {
        const x = b.lane * LANE + 12, hue = `hue${b.c.hue}`;
        const top = y(b.first) - 8, bottom = y(b.last) + 8;
        if (b.end > b.last) add("path", "f32", `d="M${x} ${bottom}V${y(b.end)}"`);
        for (const k of b.plain) add("path", "f32", `d="M${x} ${y(k)}H${width}"`);
        add("rect", `band ${hue}`, `x="${x - 5}" y="${top}" width="10" height="${bottom - top}" rx="5"`);
        for (const k of rowsAt(coveredBy(b.c))) {
            add("path", `q8 ${hue}`, `d="M${x} ${y(k)}H${width}"`);
            add("circle", `dot ${hue}`, `cx="${x}" cy="${y(k)}" r="3.2"`);
        }
        for (const k of rowsAt([...new Set([b.c.maker, ...b.c.steps])]))
            add("path", `start ${hue}`, `d="M${x - 3.5} ${y(k) - 5}l8.5 5l-8.5 5Z"`);
        for (const k of b.plain) add("circle", "f32dot", `cx="${x}" cy="${y(k)}" r="3"`);
    }
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "gutter");
    svg.setAttribute("width", width);
    svg.setAttribute("height", rows.length * ROW);
    svg.setAttribute("aria-hidden", "true");
    svg.innerHTML = shapes;
    return {svg, width};
}
