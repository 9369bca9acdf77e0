// The right side: the summary, or what is selected.
const details = document.getElementById("details");

// A button that selects something.
const link = (chosen, text, title) =>
    h("button.link", {type: "button", onclick: () => select(chosen), title}, text);
const nodeLink = n => link({node: n}, `${n.i} ${n.op}`, n.name);
const stepLink = s => link({step: s}, s.instance);
const nodeLinks = list => list.map(n => h("div", {}, nodeLink(n)));

// A sentence whose node numbers are links.
const sentence = text => text.split(/(\bnode \d+)/).map(
    (part, k) => k % 2 ? link({node: nodes[+part.slice(5)]}, part) : part);
const unnumbered = text => text.replace(/\bnode \d+/g, "a node");

const cell = c => c instanceof Node && c.tagName === "TD" ? c : h("td", {}, c);
const table = (head, rows) => h(
    "table", {}, h("thead", {}, h("tr", {}, head.map(c => h("th", {}, c)))),
    h("tbody", {}, rows.map(r => h("tr", {}, r.map(cell)))));
const pairs = rows =>
    h("dl", {}, rows.filter(r => r[1].length).map(([a, b]) => [h("dt", {}, a), h("dd", {}, b)]));
const amount = text => h("td.amount", {}, text);

// One line of the comparison: before, and planned with Catena's part in blue.
function costBar(c, k, most) {
    const planned = k > 1, fused = k % 2 === 1;
    const width = n => `width:${100 * n / most}%`;
    return h(
        "div.cost", {}, h("div", {}, h("span", {}, c.what), h("b", {}, format.count(c.launches))),
        h("div.meter", {}, h("i", {style: width(c.launches)}),
          planned ? h("i.steps", {style: width(steps.length)}) : ""),
        h("small", {}, fused ? "at most " : "", format.bytes(c.bytes), ", attainable in ",
          format.us(c.us)));
}

function activationTable() {
    const line = (what, t) =>
        [what, amount(`${t.quantized_once} / ${t.wanted}`), amount(format.count(t.matmuls))];
    const all = report.activations;
    const lines = Object.entries(all.by_producer).map(([what, t]) => line(what, t));
    return table(["made by", "once", "matmuls"], [...lines, line(h("b", {}, "all"), all)]);
}

// Bars of a step's times below each other, to one scale.
function timeBars(s) {
    const most = Math.max(s.us, s.predicted_us, s.attainable_us);
    const bar = (what, kind, us) => h(
        "div.time", {}, h("span", {}, what), h("span.track", {}, h(`i.${kind}`, {style: `width:${100 * us / most}%`})),
        h("b", {}, format.us(us)));
    const m = s.measured;
    const how = !m ? "" : m.launches > 1 ? `The median of ${m.launches} launches of this problem. ` : "";
    const as = m && m.instance ? `Measured as ${m.instance}, which the plan no longer has. ` : "";
    return [
        m ? bar("measured", "measured", s.us) : "", bar("predicted", "predicted", s.predicted_us),
        bar("attainable", "attainable", s.attainable_us),
        s.slower ? h("p.slow", {}, `${ratio(s)} the prediction.`) : "",
        m ? h("p.hint", {}, how, as, `On ${report.measured.gpu}, ${report.measured.date}.`)
            : report.measured ? h("p.hint", {}, "The record has no launch of this problem.") : ""
    ];
}

// Steps of the same instance and work that are slower than predicted, those that lose most first.
function slowerTable() {
    const folded = new Map();
    for (const s of steps.filter(s => s.slower)) {
        const key = `${s.instance}: ${s.work}`;
        if (!folded.has(key)) folded.set(key, {first: s, count: 0, us: 0, predicted: 0});
        const f = folded.get(key);
        f.count++, f.us += s.us, f.predicted += s.predicted_us;
    }
    if (!folded.size) return h("p.hint", {}, "No step takes more than a quarter longer than predicted.");
    const lost = f => f.us - f.predicted;
    const rows = [...folded.values()].sort((a, b) => lost(b) - lost(a)).map(f => [
        link({step: f.first}, `${f.first.instance.split(".")[0]}: ${f.first.work}`, f.first.instance), amount(`${f.count} ×`),
        amount(format.us(f.us / f.count)), amount(format.us(f.predicted / f.count)),
    ]);
    return [h("h3", {}, "Slower than predicted"), table(["launch, mean time", "", "measured", "predicted"], rows)];
}

function measuredPart() {
    const m = report.measured;
    if (!m) return "";
    const sum = s => s.steps ? `${s.steps} of ${steps.length}: ${format.us(s.us)} measured, ` +
        `${format.us(s.predicted_us)} predicted` : "";
    const walk = m.walk ? `${m.walk.model}, ${m.walk.load}: ${format.us(m.walk.us)}, the engine's kernels among them`
        : "The record has no step of this plan.";
    return [
        h("h2", {}, "Measured"), pairs([
            ["GPU", `${m.gpu}, driver ${m.driver}, CUDA ${m.cuda}`], ["when", `${m.date}, commit ${m.commit}`],
            ["record", m.record], ["decode step", walk], ["steps", sum(m.same_instance)],
            ["slower than predicted", sum(m.slower)], ["as another instance", sum(m.other_instance)],
            ["no time", m.walk && m.steps_without_time ? `${m.steps_without_time} of ${steps.length}: ` +
                "that decode step has no launch of their problems" : ""]
        ]),
        slowerTable()
    ];
}

// The kernels that the engine ran where this node stands.
function kernelsPart(n) {
    if (!n.kernels) return "";
    const {kernels, first, last} = n.kernels;
    return [
        h("h3", {}, `The engine's kernels, nodes ${first} to ${last}, measured`),
        table(["kernel", ""], kernels.map(k => [k.kernel, amount(format.us(k.us))]))
    ];
}

function drawSummary() {
    const most = Math.max(...page.costs.map(c => c.launches), 1);
    const groups = Object.entries(report.groups || {});
    fill(
        details, measuredPart(), h("h2", {}, "Launches"), page.costs.map((c, k) => costBar(c, k, most)),
        h("p.hint", {}, "Attainable: launches of an empty graph node, and bytes at the bandwidth of ",
          `${page.gpu}. Catena's ${format.count(steps.length)} steps, in blue: `,
          `${format.bytes(report.bytes)}, ${format.us(report.attainable_us)}; `,
          `workspace ${format.bytes(report.workspace_bytes)}.`),
        h("h2", {}, "Activations quantized once"), activationTable(),
        groups.length ? h("h2", {}, "Groups") : "",
        pairs(groups.map(([k, v]) => [k.replaceAll("_", " "), `${v}`])),
        h("h2", {}, "Left to the engine, or not as far"), reasonList(),
        report.notes.length ? h("h2", {}, "Notes") : "",
        h("ul.notes", {}, report.notes.map(n => h("li", {}, n))), legend());
}

// Reasons that differ only by node numbers are one entry; its nodes are listed when it opens.
function reasonList() {
    const folded = new Map();
    for (const n of nodes)
        for (const r of n.reasons) {
            const text = unnumbered(r.sentence), key = `${n.op} ${text}`;
            if (!folded.has(key)) folded.set(key, {op: n.op, text, nodes: []});
            folded.get(key).nodes.push(n);
        }
    if (!folded.size) return h("p", {}, "Nothing.");
    const entry = f => {
        const title = [h("b", {}, `${f.nodes.length} ×`), h("span.op", {}, f.op), ` ${f.text}`];
        const fold = h("details", {}, h("summary", {}, title));
        fold.ontoggle = () => {
            if (fold.open && fold.children.length === 1)
                fold.append(h("p.links", {}, f.nodes.map(n => link({node: n}, `${n.i}`))));
        };
        return fold;
    };
    const often = [...folded.values()].sort((a, b) => b.nodes.length - a.nodes.length);
    return h("div.reasons", {}, often.map(entry));
}

function legend() {
    const key = (sample, text) => h("li", {}, h("span.sample", {}, sample), text);
    return [
        h("h2", {}, "Legend"),
        h("ul.legend", {},
          report.measured ? [
              key(h("i.step.measured.hue0"), "a step of Catena, measured; a chain's steps share a color"),
              key(h("i.step.measured.slower.hue0", {style: "--predicted:55%"}),
                  "beyond its prediction, if it takes more than a quarter longer"),
          ] : "",
          key(h("i.step.predicted.hue0"), "a step of Catena, predicted"),
          report.measured ? key(h("i.engine"), "a kernel of the engine, measured") : "",
          key(h("i.engine.mark"), "launches of the engine, not measured: no time is shown"),
          key(h("i.quantize.mark"), "a launch in which the engine quantizes for one matmul"),
          key(h("i.bandkey.hue0"), "how long a chain's q8_1 lives; dots are nodes that it covers"),
          key(h("i.f32key"), "who reads the same value as f32")),
        h("p.hint.keys", {},
          [
              ["/", "search"], ["↑ ↓", "row"], ["← →", "layer"], ["[ ]", "layer that looks alike"],
              ["v", "views"], ["t", "theme"], ["Esc", "summary"]
          ].map(([k, text]) => h("span", {}, h("kbd", {}, k), ` ${text}`)))
    ];
}

const back = () => h("button.back", {type: "button", onclick: () => select(null)}, "‹ Summary");

function sourceLine(ref) {
    const t = tensor(ref), what = ` ${t.type} ${format.shape(t)}`;
    if (ref >= 0) return h("div", {}, nodeLink(t), what);
    return h("div", {}, h("span.leaf", {title: t.weight ? "weight" : "leaf"}, t.name || "leaf"), what);
}

function whyPart(n) {
    if (n.reasons.length)
        return [
            h("h3", {}, n.step ? "Why not further" : "Why it stayed with the engine"),
            n.reasons.map(r => h("p.why", {title: r.reason}, sentence(r.sentence)))
        ];
    if (n.step || !n.launches) return "";
    return h("p.hint", {}, "The plan says nothing about this node: it runs as it did.");
}

function nodePart(n) {
    const alone = `${format.bytes(n.bytes)}${n.quantized ? ", after a launch that quantizes" : ""}`;
    const left = n.launches ? "the engine" : "nothing to run";
    const runs = n.step ? `in the step at node ${n.step.launch_at}` : left;
    return [
        h("h2", {}, h("span.op", {}, n.op), ` node ${n.i}`), h("p.name", {}, n.name), pairs([
            ["runs", runs], ["result", `${n.type} ${format.shape(n)}${n.output ? ", OUTPUT" : ""}`],
            ["layer", layerTitle(n.layer)], ["moves alone", n.launches ? alone : ""],
            ["reads", n.src.filter(r => r !== null).map(sourceLine)],
            ["read by", n.readers.length ? nodeLinks(n.readers) : "nobody here"]
        ]),
        whyPart(n), kernelsPart(n)
    ];
}

function matmulTable(s) {
    const line = ([node, rows, type, experts]) =>
        [nodeLink(nodes[node]), type, amount(format.count(rows)), amount(experts || "")];
    return table(["matrix", "format", "rows", "experts"], s.matmuls.map(line));
}

function stepPart(s) {
    const [blocks, threads, shared, dependent, cluster] = s.config;
    const grid = `${format.count(blocks)} blocks of ${threads} threads, ${format.bytes(shared)} shared` +
        (cluster > 1 ? `, in clusters of ${cluster}` : "");
    const matmuls = new Set(s.matmuls.map(m => m[0]));
    const others = s.nodes.filter(n => !matmuls.has(n.i));
    const covers = s.nodes.length ? nodeLinks(others) : "no node: it quantizes for the readers";
    return [
        h(`h2.hue${s.of.hue}`, {}, h("span.swatch"), `Step at node ${s.launch_at}`),
        h("p.chain", {}, s.of.name), h("h3", {}, "Instance"), h("p.instance", {}, s.instance),
        h("h3", {}, "Problem"), pairs(s.problem),
        s.matmuls.length ? matmulTable(s) : "",
        pairs([[s.matmuls.length ? "and then" : "covers", covers]]), h("h3", {}, "Launch"),
        pairs([
            ["grid", grid + (dependent ? ", dependent launch" : "")], ["moves", format.bytes(s.bytes)]
        ]),
        h("h3", {}, "Time"), timeBars(s),
        chainPart(s.of, s), s.makes.map(c => chainPart(chains[c], s)), rejectedPart(s)
    ];
}

function chainPart(c, s) {
    const makes = c.maker.nodes.includes(c.made);  // otherwise the engine does, as f32
    const launched = [...new Set([c.maker, ...c.steps])];
    return [
        h("h3", {}, c === s.of ? "Chain" : "Its epilogue quantizes"), pairs([
            ["steps", launched.map(o => h("div", {}, o === s ? o.instance : stepLink(o)))],
            ["norm made", c.norm], ["q8_1 for", nodeLinks(c.served)],
            ["f32 for", makes && !c.f32_written ? "nobody: it is not written" : nodeLinks(c.plain)]
        ])
    ];
}

// Rejected rows by reason, those that came closest first.
function rejectedPart(s) {
    const folded = new Map();
    for (const [row, why, text] of page.choices[s.choice]) {
        if (!folded.has(why)) folded.set(why, []);
        folded.get(why).push([page.rows[row], page.sentences[text]]);
    }
    const order = [...folded].sort(
        ([a], [b]) =>
            (a === "computes") - (b === "computes") || (b === "slower") - (a === "slower"));
    const entry = ([why, rows]) => {
        const same = rows.every(r => r[1] === rows[0][1]);
        const title = ` ${same ? rows[0][1] : why.replaceAll("_", " ")}`;
        const line = ([name, text]) =>
            h("li", {}, h("code", {}, name), same ? "" : h("span", {}, text));
        return h(
            "details.rejected", {open: why !== "computes" ? "" : null},
            h("summary", {}, h("b", {}, `${rows.length} ×`), title), h("ul", {}, rows.map(line)));
    };
    return [h("h3", {}, `Rejected rows: ${page.choices[s.choice].length}`), order.map(entry)];
}

function drawDetails(chosen) {
    if (!chosen) return drawSummary();
    const {node, step} = chosen;
    const s = step || node.step;
    fill(
        details, back(), node ? nodePart(node) : "", node && s ? h("hr") : "",
        s ? stepPart(s) : "");
    details.scrollTop = 0;
}
