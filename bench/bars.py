"""Bars as SVG for pages, in a light and a dark theme. They need no library and come out alike everywhere."""
from html import escape

THEMES = {
    "light": {"text": "#1f2328", "soft": "#59636e", "off": "#b6bec8", "on": "#2f6fde", "lost": "#c4432b",
              "line": "#d1d9e0",
              "parts": ["#2f6fde", "#e08a2e", "#4c9f58", "#9a6bd0", "#d45d86", "#3ba7b5", "#c9d1d9"]},
    "dark": {"text": "#f0f3f6", "soft": "#9aa4af", "off": "#59636e", "on": "#5a94f5", "lost": "#f0745c",
             "line": "#3d444d",
             "parts": ["#5a94f5", "#d98a3a", "#57ab65", "#a880dc", "#dd7097", "#4bb3c1", "#4b545e"]},
}


def text(x, y, words, fill, more=""):
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{more}>{escape(words)}</text>'


def middle(x, y, words, fill, more=""):
    return text(x, y, words, fill, f' text-anchor="middle"{more}')


def rect(x, y, width, height, fill):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def svg(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="system-ui, sans-serif" font-size="12">',
                      f"<title>{escape(title)}</title>", *parts, "</svg>", ""])


BOLD = ' font-weight="600"'
GROUP, BAR, TALL = 94, 39, 92  # widths of a model and of a bar, height of the tallest bar
LEFT, TOP, PANEL, BETWEEN = 16, 78, 152, 34


def pair(x, base, scale, off, on, theme):
    """The bars of one model, with their numbers and the ratio."""
    ratio, out = on / off, []
    for at, value, color in ((x + 6, off, theme["off"]), (x + 8 + BAR, on, theme["on"])):
        out += [rect(at, base - value * scale, BAR, value * scale, color),
                middle(at + BAR / 2, base - value * scale - 4, f"{value:.0f}", theme["soft"], ' font-size="11"')]
    color = theme["text"] if ratio >= 1 else theme["lost"]
    return [*out, middle(x + 7 + BAR, base - max(off, on) * scale - 19, f"{ratio:.2f}x", color, BOLD)]


def pairs(heading, legend, columns, rows, models, values, theme):
    """Two bars a model: a panel for each load (rows) and GPU (columns). values(column, row, model) are (off, on).
    Bars of a load have one scale. legend: what the two bars are."""
    colors = THEMES[theme]
    wide = GROUP * len(models)
    width, height = 2 * LEFT + len(columns) * wide + (len(columns) - 1) * BETWEEN, TOP + PANEL * len(rows) + 36
    out = [text(LEFT, 22, heading, colors["text"], f'{BOLD} font-size="15"')]
    for i, (words, color) in enumerate(zip(legend, ("off", "on"))):
        out += [rect(LEFT + i * 150, 33, 11, 11, colors[color]), text(LEFT + i * 150 + 16, 43, words, colors["soft"])]
    for c, column in enumerate(columns):
        left = LEFT + c * (wide + BETWEEN)
        out.append(text(left, TOP - 10, column, colors["text"], BOLD))
        for r, row in enumerate(rows):
            base = TOP + PANEL * (r + 1) - 12
            scale = TALL / max(max(values(k, row, m)) for k in columns for m in models)
            out += [text(left, base - TALL - 36, row, colors["soft"]),
                    f'<path d="M{left} {base + .5}h{wide}" stroke="{colors["line"]}"/>']
            for m, model in enumerate(models):
                out += pair(left + m * GROUP, base, scale, *values(column, row, model), colors)
        for m, model in enumerate(models):
            for line, words in enumerate(model):
                out.append(middle(left + m * GROUP + GROUP / 2, TOP + PANEL * len(rows) + 8 + 15 * line, words,
                                  colors["text" if line == 0 else "soft"], ' font-size="10.5"'))
    return svg(width, height, heading, out)


def stacked(heading, parts, bars, theme):
    """Bars from left to right, made of parts. bars: (group or "", label, values of the parts, words behind the bar)."""
    colors = THEMES[theme]
    left, room, thick = 190, 560, 20
    scale = room / max(sum(values) for _, _, values, _ in bars)
    out = [text(LEFT, 22, heading, colors["text"], f'{BOLD} font-size="15"')]
    at = LEFT
    for words, color in zip(parts, colors["parts"]):
        out += [rect(at, 35, 11, 11, color), text(at + 15, 45, words, colors["soft"], ' font-size="11"')]
        at += 30 + 6 * len(words)
    y = 58
    for group, label, values, words in bars:
        y += 12 if group else 0
        out += [text(LEFT, y + 14, group, colors["text"], BOLD)] * bool(group)
        out.append(text(left - 8, y + 14, label, colors["soft"], ' text-anchor="end" font-size="11"'))
        x = left
        for value, color in zip(values, colors["parts"]):
            out += [rect(x, y, value * scale, thick - 3, color)] * (value > 0)
            x += value * scale
        out.append(text(x + 6, y + 14, words, colors["text"], ' font-size="11"'))
        y += thick
    return svg(left + room + 140, y + 14, heading, out)
