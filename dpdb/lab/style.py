"""The style sheet of HTML reports: light and dark, screen and paper."""

from __future__ import annotations

from dpdb.plots.style import DARK, LIGHT, MARKS, declared

_COLOURS = f"""
:root {{
  color-scheme: light dark; {declared(LIGHT)}
  --panel: #f6f8fa; --off: #c4352c; --foil: #c77a0a; --private: #1f6fb4; --alert: #c4352c;
}}
@media (prefers-color-scheme: dark) {{
  :root {{
    {declared(DARK)}
    --panel: #1c2229; --off: #f0706a; --foil: #e6a23c; --private: #5aa9ea; --alert: #ff8a84;
  }}
}}
"""

_RULES = """\
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.2rem 4rem; background: var(--paper);
  color: var(--ink); font: 1.06rem/1.55 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
a { color: var(--private); }
nav, footer, .source, .legend { color: var(--soft); font-size: .92rem; }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: .8rem; }
.act { border-left: 4px solid var(--rule); padding: .1rem 0 .1rem 1rem; margin: 1.2rem 0; }
.act h2 { margin: 0 0 .3rem; }
.act.off { border-color: var(--off); } .act.off h2 { color: var(--off); }
.act.foil { border-color: var(--foil); } .act.foil h2 { color: var(--foil); }
.act.private { border-color: var(--private); } .act.private h2 { color: var(--private); }
.act ol { list-style: none; margin: .4rem 0; padding: .6rem .9rem; background: var(--panel);
  border-radius: 6px; font: .88rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.act li { margin: .25rem 0; overflow-wrap: anywhere; }
.act code { font: inherit; color: var(--soft); }
.answer, .refused { display: block; padding-left: 1.5rem; font-weight: 600; }
.refused { color: var(--alert); }
.omitted { color: var(--soft); }
.verdict.right::before { content: "✔ "; } .verdict.wrong::before { content: "✘ "; }
svg { width: 100%; height: auto; display: block; margin: .5rem 0; }
svg .figure { font-weight: 600; }
svg .bar { opacity: .85; } svg .bar.off { fill: var(--off); } svg .bar.foil { fill: var(--foil); }
svg .bar.private { fill: var(--private); }
svg .interval { stroke: var(--ink); stroke-width: 1.6; }
svg .ceiling { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
svg .ceiling.broken { fill: var(--alert); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; margin: .6rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--rule); font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--soft); }
.summary b { font-weight: 700; } .summary.off b { color: var(--off); }
.summary.foil b { color: var(--foil); } .summary.private b { color: var(--private); }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  .act, svg, table { break-inside: avoid; } nav { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""

STYLE = _COLOURS + MARKS + _RULES
