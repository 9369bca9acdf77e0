"""How pages of benchmarks look."""
STYLE = """
:root { color-scheme: light dark; --line: #8886; --weak: #8888; --good: #2a7; --bad: #c43; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-size: 13px; } .wide { overflow-x: auto; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 18rem; }
thead th { position: sticky; top: 0; background: Canvas; } tbody tr:hover { background: #8881; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; } dt { color: GrayText; } dd { margin: 0; }
details { margin: .6rem 0; } summary { cursor: pointer; }
figure { margin: 1rem 0; background: #fff; border-radius: 6px; } figure svg { width: 100%; height: auto; display: block; }
.warning { background: var(--bad); color: #fff; padding: .6rem 1rem; border-radius: 6px; font-weight: 600; }
.lost { color: var(--bad); } .won { color: var(--good); } .why { color: GrayText; white-space: normal; text-align: left; }
"""
