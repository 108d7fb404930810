#include "tools/report/page_style.h"

namespace latchkey {

// Series differ by dashes as well as by colour: for print without colour, and for the colour-blind.
const std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --bg: #f4f5f7; --card: #ffffff; --fg: #1b1f24; --soft: #59626d; --rule: #d5dae0; --grid: #e4e8ec;
  --good: #1a7f37; --bad: #b42318; --warn: #fff6dd; --warn-rule: #d9a400;
  --s0: #1f6fb4; --s1: #c85a00; --s2: #23803f; --s3: #a82c88; --s4: #7d6200; --s5: #5a50c8;
  --s6: #007f88; --s7: #7b828b;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --bg: #14171b; --card: #1d2126; --fg: #e6e9ed; --soft: #a2abb5; --rule: #3a414a; --grid: #2b3138;
    --good: #5fd083; --bad: #ff8a7a; --warn: #33290d; --warn-rule: #b58a00;
    --s0: #64aef0; --s1: #ff9d52; --s2: #6bcf8a; --s3: #ef8bd0; --s4: #dcc05a; --s5: #a8a2f6;
    --s6: #4bced6; --s7: #aab1ba;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--bg); color: var(--fg);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
}
main { max-width: 1240px; margin: 0 auto; padding: 16px; }
article + article { border-top: 2px solid var(--rule); margin-top: 40px; }
h1 { font-size: 1.6rem; margin: 12px 0 4px; }
h2 { font-size: 1.15rem; margin: 32px 0 8px; }
h3 { font-size: 1rem; margin: 16px 0 6px; overflow-wrap: anywhere; }
.note { color: var(--soft); font-size: .88rem; margin: 6px 0; max-width: 80ch; }
ul.documents { list-style: none; padding: 0; margin: 8px 0; overflow-wrap: anywhere; }
ul.notices { list-style: none; padding: 0; margin: 12px 0; overflow-wrap: anywhere; }
ul.notices li {
  background: var(--warn); border-left: 4px solid var(--warn-rule); padding: 6px 10px; margin: 4px 0;
  font-size: .9rem;
}
ul.notices li.bad { border-left-color: var(--bad); }
ul.facts { list-style: none; padding: 0; margin: 6px 0; display: flex; flex-wrap: wrap; gap: 6px; }
ul.facts li {
  background: var(--card); border: 1px solid var(--rule); border-radius: 4px; padding: 1px 8px;
  font-size: .86rem; overflow-wrap: anywhere;
}
.charts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr));
  gap: 12px; align-items: start;
}
figure.chart {
  margin: 0; padding: 10px 8px 8px; background: var(--card); border: 1px solid var(--rule);
  border-radius: 6px; min-width: 0;
}
figcaption { font-weight: 600; font-size: .92rem; padding: 0 6px 4px; overflow-wrap: anywhere; }
figure.chart > svg { display: block; width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--fg); font-family: inherit; }
svg text.tick { fill: var(--soft); }
svg text.value { font-variant-numeric: tabular-nums; font-weight: 600; }
svg text.halo { paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
svg .grid { stroke: var(--grid); stroke-width: 1; }
svg .zero { stroke: var(--soft); stroke-width: 1; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .line.thin { stroke-width: 1; stroke-dasharray: none; }
svg .whisker { stroke: var(--fg); stroke-width: 1.3; }
svg .sample { fill: var(--card); stroke: var(--fg); stroke-width: .8; }
svg .line.s0 { stroke: var(--s0); } svg .bar.s0, svg .dot.s0 { fill: var(--s0); }
svg .line.s1 { stroke: var(--s1); stroke-dasharray: 7 4; } svg .bar.s1, svg .dot.s1 { fill: var(--s1); }
svg .line.s2 { stroke: var(--s2); stroke-dasharray: 2 4; } svg .bar.s2, svg .dot.s2 { fill: var(--s2); }
svg .line.s3 { stroke: var(--s3); stroke-dasharray: 9 3 2 3; } svg .bar.s3, svg .dot.s3 { fill: var(--s3); }
svg .line.s4 { stroke: var(--s4); stroke-dasharray: 4 3; } svg .bar.s4, svg .dot.s4 { fill: var(--s4); }
svg .line.s5 { stroke: var(--s5); stroke-dasharray: 12 4; } svg .bar.s5, svg .dot.s5 { fill: var(--s5); }
svg .line.s6 { stroke: var(--s6); } svg .bar.s6, svg .dot.s6 { fill: var(--s6); }
svg .line.s7 { stroke: var(--s7); } svg .bar.s7, svg .dot.s7 { fill: var(--s7); }
ul.legend {
  list-style: none; margin: 4px 6px 0; padding: 0; display: flex; flex-wrap: wrap; gap: 2px 14px;
  font-size: .82rem; overflow-wrap: anywhere;
}
svg.key { width: 26px; height: 10px; margin-right: 6px; }
svg.key.square { width: 10px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 6px; }
table { border-collapse: collapse; font-size: .88rem; width: 100%; }
th, td { text-align: left; padding: 5px 10px; border-bottom: 1px solid var(--grid); vertical-align: top; }
thead th { border-bottom: 1px solid var(--rule); vertical-align: bottom; font-size: .82rem; }
tbody th { font-weight: 500; }
tbody tr:last-child > * { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
tr.group th { font-weight: 700; background: var(--bg); overflow-wrap: anywhere; }
td.verdict { font-weight: 600; }
.good { color: var(--good); }
td.bad { color: var(--bad); }
table.machine td { overflow-wrap: anywhere; }
@media (max-width: 600px) {
  main { padding: 10px; }
  th, td { padding: 4px 7px; }
}
@media print {
  :root { --bg: #ffffff; }
  @page { margin: 12mm; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  figure.chart, tr, ul.notices li { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .charts { grid-template-columns: repeat(2, 1fr); }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: 2px 3px; overflow-wrap: anywhere; }
  td.number { white-space: normal; }
  svg, .bar, ul.notices li { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace latchkey
