// Selection, keys, theme, and the start.
let selected = null;
let addressing = 0;  // browsers refuse to change the address often: it waits until the reader does

// Selects {node}, {step} or nothing, shows it, and keeps it in the address.
function select(chosen) {
    selected = chosen;
    if (chosen) {
        const n = chosen.node || nodes[chosen.step.launch_at];
        if (chosen.node && !n.launches && !showViews) setViews(true);
        if (n.layer.section.shown !== n.layer || n.layer.section.body.hidden)
            showLayer(n.layer, false);
    }
    markSelected();
    const row = graph.querySelector(".row.selected");
    if (row) row.scrollIntoView({block: "nearest"});
    drawDetails(chosen);
    const address = !chosen ? "#" : chosen.node ? `#node-${chosen.node.i}` : `#step-${chosen.step.i}`;
    clearTimeout(addressing);
    addressing = setTimeout(() => history.replaceState(null, "", address), 200);
}

function markSelected() {
    for (const e of document.querySelectorAll(".selected, .near"))
        e.classList.remove("selected", "near");
    if (!selected) return;
    const mark = (query, name) => {
        for (const e of document.querySelectorAll(query)) e.classList.add(name);
    };
    const {node, step} = selected;
    mark(step ? `[data-step="${step.i}"]` : `.row[data-node="${node.i}"]`, "selected");
    const sources = node ? node.src.filter(r => r !== null && r >= 0).map(tensor) : [];
    const near = step ? step.nodes : [...sources, ...node.readers];
    for (const n of near) mark(`.row[data-node="${n.i}"]`, "near");
    if (node && node.step) mark(`[data-step="${node.step.i}"]`, "near");
}

function setViews(on) {
    showViews = on;
    document.getElementById("views").checked = on;
    for (const s of sections)
        if (!s.body.hidden) drawBody(s);
}

function moveRow(by) {
    const rows = [...graph.querySelectorAll(".row")];
    if (!rows.length) return;
    const at = rows.findIndex(r => r.classList.contains("selected"));
    const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    row.focus({preventScroll: true});
    row.click();
}

const openSection = () => sections.find(s => !s.body.hidden);

function moveLayer(by) {
    const open = openSection();
    const next = layers[open ? open.shown.i + by : 0];
    if (next) showLayer(next, true);
}

function moveAlike(by) {
    const open = openSection();
    if (open) showLayer(alike(open.shown, by), false);
}

function setTheme(name) {
    document.documentElement.dataset.theme = name;
}
const dark = () => document.documentElement.dataset.theme ?
    document.documentElement.dataset.theme === "dark" :
    matchMedia("(prefers-color-scheme: dark)").matches;

const keys = {
    "/": () => query.focus(),
    ArrowDown: () => moveRow(1), ArrowUp: () => moveRow(-1),
    ArrowRight: () => moveLayer(1), ArrowLeft: () => moveLayer(-1),
    "]": () => moveAlike(1), "[": () => moveAlike(-1),
    v: () => setViews(!showViews),
    t: () => setTheme(dark() ? "light" : "dark"),
    Escape: () => select(null),
};
document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "SELECT"].includes(event.target.tagName) || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
});
document.getElementById("views").onchange = event => setViews(event.target.checked);
document.getElementById("theme").onclick = keys.t;

function fromAddress() {
    const [, what, number] = location.hash.match(/^#(node|step)-(\d+)$/) || [];
    const list = what === "node" ? nodes : steps;
    if (what && list[number]) select({[what]: list[number]});
    return !!what;
}

document.querySelector("h1").append(
    report.graph.model, h("span", {}, `${report.graph.case}`),
    h("span", {}, `${report.arch}, ${page.gpu}`),
    h("span", {}, `${format.count(report.graph.nodes)} nodes`),
    h("span", {}, `${format.count(steps.length)} steps`));
drawMap();
drawSections();
drawSummary();
if (!fromAddress()) {
    const middle = layers.find(l => l.repeats && l.number > 0) ||
        layers.find(l => l.launches.some(x => x.step)) || layers[0];
    if (middle) showLayer(middle, false);
}
addEventListener("hashchange", fromAddress);
document.documentElement.dataset.ready = "yes";
