// The map: every layer in order, every launch of it. A step is a colored cell, runs of the
// engine's launches are gray, quantizes that it still does are hatched; the pale bar behind is what
// the layer cost node by node.
const map = document.getElementById("map");

function cells(l, most) {
    const out = [];
    let run = null;
    for (const {step, node, quantize} of l.launches) {
        const kind = step ? "step" : quantize ? "quantize" : "engine";
        if (kind === "engine" && run) {
            run.count++;
            run.last = node.i;
            continue;
        }
        const cell =
            {kind, step, first: node ? node.i : step.launch_at, last: node ? node.i : 0, count: 1};
        run = kind === "engine" ? cell : null;
        out.push(cell);
    }
    const width = n => `width:${(100 * n / most).toFixed(3)}%`;
    return [h("i.before", {style: width(l.before)}), out.map(c => cellOf(c, width(c.count)))];
}

function cellOf({kind, step, first, last, count}, style) {
    if (step)
        return h(
            `i.step.hue${step.of.hue}`,
            {style, "data-step": step.i, title: `node ${first}: ${step.instance}`});
    let title = `node ${first}: the engine`;
    if (kind === "quantize") title += " quantizes for this matmul alone";
    if (count > 1) title = `${count} launches of the engine, nodes ${first} to ${last}`;
    return h(`i.${kind}`, {style, "data-node": first, title});
}

// What a map cell or a row of the graph stands for.
const chosenBy = e => e.dataset.step ? {step: steps[e.dataset.step]} : {node: nodes[e.dataset.node]};

function mapRow(l, most) {
    const title = `${layerNodes(l)}: ${l.before} launches before, ${l.launches.length} planned`;
    const number = h("b", {}, l.number === null ? "" : `${l.number}`);
    const name = h("button.layer", {type: "button", title}, number, h("span.kind", {}, l.section.label));
    return h(
        "li", {"data-layer": l.i}, name, h("span.cells", {}, cells(l, most)),
        h("span.count", {}, `${l.launches.length}`));
}

function drawMap() {
    const most = Math.max(...layers.map(l => l.before), 1);
    map.append(
        h("h2", {}, "Launches"),
        h("p.hint", {}, "A row per layer, a cell per launch. Pale: node by node, before."));
    for (const l of layers) l.row = mapRow(l, most);
    map.append(h("ol", {}, layers.map(l => l.row)));
    map.onclick = event => {
        const cell = event.target.closest("[data-step],[data-node]");
        const row = event.target.closest("[data-layer]");
        if (cell) select(chosenBy(cell));
        else if (row) showLayer(layers[row.dataset.layer], true);
    };
}

function markMap(l) {
    for (const other of layers) {
        other.row.classList.toggle("shown", other === l);
        other.row.classList.toggle("same", other !== l && other.section === l.section);
    }
    l.row.scrollIntoView({block: "nearest"});
}
