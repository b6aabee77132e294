"""The style sheet of HTML reports: light and dark, screen and paper."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --soft: #59636e; --rule: #d8dee4; --panel: #f6f8fa;
  --off: #c4352c; --foil: #c77a0a; --private: #1f6fb4; --alert: #c4352c;
  --s1: #1f6fb4; --s2: #c77a0a; --s3: #2f8f5b; --s4: #8a4fbd; --s5: #59636e; --blank: #d8dee4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --ink: #e8ecf0; --soft: #9aa5b1; --rule: #343c46; --panel: #1c2229;
    --off: #f0706a; --foil: #e6a23c; --private: #5aa9ea; --alert: #ff8a84;
    --s1: #5aa9ea; --s2: #e6a23c; --s3: #58c08a; --s4: #bd8cf0; --s5: #9aa5b1; --blank: #343c46;
  }
}
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
svg text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 12px; }
svg .figure { font-weight: 600; }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--soft); }
svg .baseline { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg .bar { opacity: .85; } svg .bar.off { fill: var(--off); } svg .bar.foil { fill: var(--foil); }
svg .bar.private { fill: var(--private); }
svg .interval { stroke: var(--ink); stroke-width: 1.6; }
svg .ceiling { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
svg .ceiling.broken { fill: var(--alert); }
svg .series { fill: none; stroke-width: 2; }
svg .s0 { stroke: var(--off); } svg .s1 { stroke: var(--s1); } svg .s2 { stroke: var(--s2); }
svg .s3 { stroke: var(--s3); } svg .s4 { stroke: var(--s4); } svg .s5 { stroke: var(--s5); }
svg .k0 { fill: var(--off); } svg .k1 { fill: var(--blank); } svg .k2 { fill: var(--s1); }
svg .k3 { fill: var(--s2); }
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
