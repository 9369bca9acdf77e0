// The data of the page, and what the rest asks of it.
const parsed = id => JSON.parse(document.getElementById(id).textContent);
const report = parsed("explain");
const page = parsed("page");

const LAUNCHES = 1, QUANTIZED = 2, OUTPUT = 4;
const HUES = 6;

const nodes = page.nodes.map(([op, name, type, ne, src, marks, bytes], i) => ({
    i, op, name, type, ne, src, bytes,
    launches: !!(marks & LAUNCHES), quantized: !!(marks & QUANTIZED), output: !!(marks & OUTPUT),
    readers: [], reasons: [],
    step: null, starts: [],     // the step that covers it, and those that are launched here
    reads: null, emits: null,   // formats, where a chain reads or writes it
}));
const leaves = page.leaves.map(([name, type, ne, weight]) => ({name, type, ne, weight: !!weight}));
const tensor = ref => ref >= 0 ? nodes[ref] : leaves[-1 - ref];
for (const n of nodes)
    for (const ref of n.src)
        if (ref !== null && ref >= 0) nodes[ref].readers.push(n);
for (const n of nodes)
    n.weights = n.src.filter(r => r !== null && r < 0).map(tensor).filter(t => t.weight);
for (const left of report.not_fused) nodes[left.node].reasons.push(left);

const steps = report.steps.map((s, i) => (
    {...s, ...page.steps[i], i, nodes: s.nodes.map(n => nodes[n])}));
for (const s of steps) {
    s.us = s.measured ? s.measured.us : s.predicted_us;
    s.slower = !!s.measured && s.measured.slower;
    nodes[s.launch_at].starts.push(s);
    for (const n of s.nodes) n.step = s;
}

// Readers of a node's value, through nodes that only rename it.
function valueReaders(n, out = []) {
    for (const r of n.readers) r.launches ? out.push(r) : valueReaders(r, out);
    return out;
}

const chains = page.chains.map((c, i) => ({...c, i, hue: 0, steps: c.steps.map(s => steps[s])}));
for (const c of chains) {
    for (const s of c.steps) s.of = c;
    c.maker = c.made_by < 0 ? c.steps[0] : steps[c.made_by];  // the engine's f32: its first reader
    c.made = c.activation >= 0 ? nodes[c.activation] : null;
    c.served = c.served.map(n => nodes[n]);
    for (const n of c.served) n.reads = "q8_1";
    const own = new Set([c.maker, ...c.steps].flatMap(s => s.nodes));
    c.plain = c.made ? [...new Set(valueReaders(c.made))].filter(n => !own.has(n)) : [];
    if (!c.made || !own.has(c.made)) continue;
    c.made.emits = !c.served.length ? "f32" : c.f32_written ? "f32 + q8_1" : "q8_1";
    for (const n of c.plain) n.reads = n.reads || "f32";
}

// Layers: numbered where their kind repeats. A letter per such kind, a number per variant of it.
const layers = page.layers.map(([first, last, kind, variant, like, repeats], i) => ({
    i, first, last, kind, variant, like, repeats, number: null, nodes: nodes.slice(first, last),
}));
const letters = new Map();
let numbered = 0;
for (const l of layers) {
    for (const n of l.nodes) n.layer = l;
    if (!l.repeats) continue;
    l.number = numbered++;
    if (l.like < 0 && !letters.has(l.kind))
        letters.set(l.kind, String.fromCharCode(65 + letters.size % 26));
}
const sections = [];
for (const l of layers) {
    let s = sections.find(s => s.kind === l.kind && s.variant === l.variant);
    if (!s) sections.push(s = {kind: l.kind, variant: l.variant, layers: [], i: sections.length});
    s.layers.push(l);
    l.section = s;
}
for (const s of sections) {
    const l = s.layers[0];
    const siblings = sections.filter(o => o.kind === s.kind);
    s.model = siblings[0];
    if (l.like >= 0) s.label = `${letters.get(l.like)}′`;
    else if (l.repeats) s.label = letters.get(l.kind);
    else s.label = l.i === 0 ? "begin" : l.i === layers.length - 1 ? "end" : "between";
    if (siblings.length > 1) s.label += siblings.indexOf(s) + 1;
}

// What a layer launches, in order: {step}, {node} of the engine, or {node, quantize} before it.
for (const l of layers) {
    l.launches = [];
    l.before = 0;
    for (const n of l.nodes) {
        for (const step of n.starts) l.launches.push({step});
        if (!n.launches) continue;
        l.before += n.quantized ? 2 : 1;
        if (n.step) continue;
        if (n.quantized) l.launches.push({node: n, quantize: true});
        l.launches.push({node: n});
    }
    let next = 0;
    const seen = new Set();
    for (const {step} of l.launches)
        if (step && !seen.has(step.of)) {
            seen.add(step.of);
            step.of.hue = next++ % HUES;
        }
}

// The bars of the map, by layer: {kind, us, first: a node} and what it is. The engine's kernels
// stand in the layer where their first node is. The record does not say which node a kernel is of.
for (const l of layers) l.bars = [];
let run = [];  // the engine's launches since the last step, each with its layer
function drawEngine(kernels, layer) {
    const own = run.length ? run[0].layer : layer;
    const first = run.length ? run[0].node.i : own.first;
    if (kernels) {
        for (const k of kernels) {
            if (k.gap_us) own.bars.push({kind: "gap", us: k.gap_us, first});
            own.bars.push({kind: "engine", us: k.us, kernel: k.kernel, first});
        }
        const last = run.length ? run[run.length - 1].node.i : first;
        for (const {node} of run) node.kernels = {kernels, first, last};
    } else {
        let bar = null;
        for (const {layer, node, quantize} of run) {
            const kind = quantize ? "quantize" : "engine";
            if (bar && kind === "engine" && bar.kind === "engine" && bar.layer === layer) {
                bar.count++, bar.last = node.i;
                continue;
            }
            bar = {kind, us: 0, layer, first: node.i, last: node.i, count: 1};
            layer.bars.push(bar);
        }
    }
    run = [];
}
for (const l of layers)
    for (const x of l.launches) {
        if (!x.step) {
            run.push({...x, layer: l});
            continue;
        }
        const {measured} = x.step;
        drawEngine(measured && measured.engine_before, l);
        if (measured && measured.gap_us) l.bars.push({kind: "gap", us: measured.gap_us, first: x.step.launch_at});
        l.bars.push({kind: "step", us: x.step.us, step: x.step, first: x.step.launch_at});
    }
drawEngine(report.measured && report.measured.engine_after, layers[layers.length - 1]);
for (const l of layers) l.us = l.bars.reduce((sum, b) => sum + b.us, 0);

const format = {
    count: n => n.toLocaleString("en"),
    bytes: b => {
        if (b < 1e3) return `${b} B`;
        const k = b < 1e6 ? 1 : b < 1e9 ? 2 : 3;
        return `${(b / 1e3 ** k).toPrecision(3)} ${["", "kB", "MB", "GB"][k]}`;
    },
    us: t => t < 1e3 ? `${t.toPrecision(3)} µs` : `${(t / 1e3).toPrecision(3)} ms`,
    shape: t => {
        let last = 4;
        while (last > 1 && t.ne[last - 1] === 1) --last;
        return t.ne.slice(0, last).join(" × ");
    },
    // [0, 1, 2, 5] as "0–2, 5"
    ranges: list => {
        const out = [];
        for (const n of list) {
            const last = out[out.length - 1];
            if (last && last[1] === n - 1) last[1] = n;
            else out.push([n, n]);
        }
        const shown = ([a, b]) => a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`;
        return out.map(shown).join(", ");
    },
};

const layerTitle = l => l.number === null ? l.section.label : `layer ${l.number}`;

// An element: h("p.class", {title: "…", onclick() {…}}, "text", element, …)
function h(kind, properties = {}, ...children) {
    const [tag, ...classes] = kind.split(".");
    const e = document.createElement(tag);
    if (classes.length) e.className = classes.join(" ");
    for (const [name, value] of Object.entries(properties)) {
        if (value === undefined || value === null) continue;
        if (name.startsWith("on")) e[name] = value;
        else e.setAttribute(name, value);
    }
    return fill(e, children);
}

// Replaces what an element holds by a tree of strings and elements.
function fill(element, ...children) {
    element.replaceChildren(...children.flat(Infinity).filter(c => c !== ""));
    return element;
}
