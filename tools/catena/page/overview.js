// The map: every layer in order, every launch of it, to scale in time. A step is a colored bar: full
// where its time is measured, an outline where it is predicted alone, hatched beyond the prediction
// where it takes more than a quarter longer. The engine's kernels are gray bars where they are
// measured, else marks that take no time. What is longer than the scale goes on in the next line.
const map = document.getElementById("map");
const times = timesOf(layers);

// A time axis whose end is the longest of the layers that repeat, and a round distance of its ticks.
function timesOf(all) {
    const some = all.some(l => l.repeats) ? all.filter(l => l.repeats) : all;
    const end = Math.max(...some.map(l => l.us)) || 1;
    const power = 10 ** Math.floor(Math.log10(end / 3));
    const tick = [1, 2, 5, 10].map(n => n * power).find(t => end / t <= 5);
    return {end, tick};
}

// The bars of a layer as lines of the map: pieces [bar, from, to] in us of the bar.
function linesOf(l) {
    const nothing = 1e-6;  // sums of times are off by less
    const lines = [[]];
    let at = 0;
    for (const bar of l.bars) {
        let from = 0;
        do {
            if (bar.us > 0 && at > times.end - nothing) lines.push([]), at = 0;
            const to = Math.min(bar.us, from + times.end - at);
            lines[lines.length - 1].push([bar, from, to]);
            at += to - from;
            from = to;
        } while (bar.us - from > nothing);
    }
    return lines;
}

const barTime = ({step, us}) => !step ? `${format.us(us)} measured`
    : !step.measured ? `${format.us(us)} predicted`
    : `${format.us(us)} measured${step.measured.instance ? " as another instance" : ""}, ` +
        `${format.us(step.predicted_us)} predicted`;

function barTitle(bar) {
    const {kind, step, first, last, count, kernel, us} = bar;
    if (kind === "gap") return `no kernel runs for ${format.us(us)}`;
    if (step) return `node ${first}: ${step.instance}, ${barTime(bar)}`;
    if (kernel) return `the engine's ${kernel}, ${barTime(bar)}`;
    if (kind === "quantize") return `node ${first}: the engine quantizes for this matmul alone`;
    return count > 1 ? `${count} launches of the engine, nodes ${first} to ${last}`
        : `node ${first}: the engine`;
}

function pieceOf([bar, from, to]) {
    const {kind, step, first, us} = bar;
    const width = us > 0 ? `width:${(100 * (to - from) / times.end).toFixed(3)}%` : "";
    const data = kind === "gap" ? {} : step ? {"data-step": step.i} : {"data-node": first};
    const rest = from > 0 ? ".rest" : "";
    if (!step) return h(`i.${kind}${us > 0 ? "" : ".mark"}${rest}`, {style: width, title: barTitle(bar), ...data});
    const known = step.measured ? step.slower ? "measured.slower" : "measured" : "predicted";
    const share = Math.min(Math.max((step.predicted_us - from) / (to - from), 0), 1);
    const style = step.slower ? `${width};--predicted:${(100 * share).toFixed(1)}%` : width;
    return h(`i.step.${known}.hue${step.of.hue}${rest}`, {style, title: barTitle(bar), ...data});
}

function mapRow(l) {
    const all = l.launches.filter(x => x.step).every(x => x.step.measured);
    const title = `${layerNodes(l)}: ${l.before} launches before, ${l.launches.length} planned; ` +
        `${format.us(l.us)} ${all && report.measured ? "measured" : "in part predicted"}`;
    const number = h("b", {}, l.number === null ? "" : `${l.number}`);
    const name = h("button.layer", {type: "button", title}, number, h("span.kind", {}, l.section.label));
    const lines = linesOf(l).map(pieces => h("span.cells", {}, pieces.map(pieceOf)));
    return h(
        "li", {"data-layer": l.i}, name, h("span.lines", {}, lines),
        h("span.count", {}, l.us > 0 ? `${Math.round(l.us)}` : ""));
}

function axis() {
    const ticks = [];
    for (let t = 0; t <= times.end; t += times.tick)
        ticks.push(h("span", {style: `left:${(100 * t / times.end).toFixed(2)}%`}, `${+t.toPrecision(6)}`));
    return h("div.axis", {}, h("span.layer"), h("span.ticks", {}, ticks), h("span.count", {}, "µs"));
}

function drawMap() {
    map.style.setProperty("--tick", `${(100 * times.tick / times.end).toFixed(3)}%`);
    map.append(
        h("h2", {}, "Launches"),
        h("p.hint", {}, "A row per layer, a bar per launch, as long as it takes: ",
          report.measured ? "full if measured, else an outline." : "predicted, so each is an outline."),
        axis());
    for (const l of layers) l.row = mapRow(l);
    map.append(h("ol", {}, layers.map(l => l.row)));
    map.onclick = event => {
        const cell = event.target.closest("[data-step],[data-node]");
        const row = event.target.closest("[data-layer]");
        if (cell) select(chosenBy(cell));
        else if (row) showLayer(layers[row.dataset.layer], true);
    };
}

// What a bar of the map or a row of the graph stands for.
const chosenBy = e => e.dataset.step ? {step: steps[e.dataset.step]} : {node: nodes[e.dataset.node]};

function markMap(l) {
    for (const other of layers) {
        other.row.classList.toggle("shown", other === l);
        other.row.classList.toggle("same", other !== l && other.section === l.section);
    }
    l.row.scrollIntoView({block: "nearest"});
}
