// Search: every word must occur in the text of a node or of a step.
const query = document.getElementById("query");
const hits = document.getElementById("hits");
const which = document.getElementById("which");
const MOST_SHOWN = 60;
let found = [], current = -1, texts = null;

function searchTexts() {
    const said = n => n.reasons.map(r => `${r.reason} ${r.sentence}`).join(" ");
    const nodeText = n => `node ${n.i} ${n.op} ${n.name} ${n.type} ${said(n)}`;
    const stepText = s => `step at ${s.launch_at} ${s.instance} ${s.of.name} ${s.problem[0][1]}`;
    return [
        ...nodes.map(n => [nodeText(n).toLowerCase(), {node: n}]),
        ...steps.map(s => [stepText(s).toLowerCase(), {step: s}])
    ];
}

function hit({node, step}, k) {
    const what = step ? [h("span.at", {}, `▶ ${step.launch_at}`), h("span.op", {}, step.instance)]
        : [h("span.at", {}, `${node.i}`), h("span.op", {}, node.op), ` ${node.name}`];
    const where = h("small", {}, layerTitle((node || nodes[step.launch_at]).layer));
    return h("li", {}, h("button", {type: "button", onclick: () => goTo(k)}, what, where));
}

function search() {
    const words = query.value.toLowerCase().split(/\s+/).filter(w => w);
    texts = texts || searchTexts();
    const fits = ([text]) => words.every(w => text.includes(w));
    found = words.length ? texts.filter(fits).map(([, chosen]) => chosen) : [];
    current = -1;
    which.textContent = words.length ? `${found.length}` : "/";
    hits.hidden = !words.length;
    const count = `${format.count(found.length)} found; Enter goes from one to the next`;
    const title = h("li.hint", {}, found.length ? count : "nothing found");
    fill(hits, title, found.slice(0, MOST_SHOWN).map(hit));
}

function goTo(k) {
    if (!found.length) return;
    current = (k + found.length) % found.length;
    which.textContent = `${current + 1} / ${found.length}`;
    hits.hidden = true;
    select(found[current]);
}

query.oninput = search;
query.onfocus = () => hits.hidden = !query.value;
query.onkeydown = event => {
    if (event.key === "Enter") goTo(current + (event.shiftKey ? -1 : 1));
    if (event.key !== "Escape") return;
    query.value = "";
    search();
    query.blur();
};
document.addEventListener("click", event => {
    if (!event.target.closest(".search")) hits.hidden = true;
});
