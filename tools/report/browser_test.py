#!/usr/bin/env python3
"""Opens report pages of real runs in a headless Chromium, at the widths of a phone and of a desktop.

  browser_test.py LATCHKEY [SCREENSHOTS]

Each page must open without a message on the console, be no wider than the window, have marks in every
chart and no text that leaves its chart or lies on another text. With the folder SCREENSHOTS, pictures
are written there, light and dark. Exit 77: there is no Chromium.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", "--enable-logging=stderr"]
WIDTHS = {"phone": 500, "desktop": 1280}

# Added to a copy of the page, of which the policy that forbids scripts is removed.
CHECK = """<script>
const faults = [], charts = document.querySelectorAll('figure.chart > svg');
for (const svg of charts) {
  const name = svg.getAttribute('aria-label'), view = svg.viewBox.baseVal;
  if (!svg.querySelector('.mark')) faults.push(name + ': no mark');
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBBox()]);
  for (const [text, b] of boxes) {
    if (b.x < 0 || b.y < 0 || b.x + b.width > view.width || b.y + b.height > view.height)
      faults.push(name + ': cut: ' + text);
  }
  for (let i = 0; i < boxes.length; ++i) for (let j = 0; j < i; ++j) {
    const [s, a] = boxes[i], [t, b] = boxes[j];
    if (a.x + 1 < b.x + b.width && b.x + 1 < a.x + a.width &&
        a.y + 3 < b.y + b.height && b.y + 3 < a.y + a.height)
      faults.push(name + ': "' + s + '" lies on "' + t + '"');
  }
  for (const mark of svg.querySelectorAll('.mark')) {
    const b = mark.getBBox();
    if (b.x < -1 || b.y < -1 || b.x + b.width > view.width + 1 || b.y + b.height > view.height + 1)
      faults.push(name + ': a mark outside');
  }
}
if (document.documentElement.scrollWidth > innerWidth) faults.push('wider than the window');
document.body.dataset.result = JSON.stringify({faults, charts: charts.length, width: innerWidth});
</script>"""
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def chromium(browser, url, *arguments):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([browser, *FLAGS, f"--user-data-dir={profile}", *arguments, url],
                              capture_output=True, text=True, check=False)


def make_pages(latchkey, folder):
    """Pages of real runs; each is the JSON of one verb, and one is of all of them."""
    def run(*arguments):
        done = subprocess.run([latchkey, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"latchkey {' '.join(arguments)} exits with {done.returncode}:\n{done.stderr}")

    run("tpcc-lite", "run", "--engine=latchkey,memory", "--device=memory", "--scale=0.01", "--warehouses=1",
        "--users=1,2", "--duration=2", "--warmup=0", "--repeat=3", "--json=run.json", "--report=direct.html")
    run("bench", "--engine=memory", "--records=2000", "--workload=read-zipf,a", "--threads=1,2,3",
        "--duration=1", "--warmup=0", "--json=bench.json")
    run("layout", "--layout=overwrite,lfs", "--data-size=4MiB", "--json=layout.json")
    run("contention", "model", "--policy=pg2q,pgbat-pre", "--pages=1000", "--simulate=5k", "--json=model.json")
    run("contention", "lock", "--threads=1", "--warmup=0", "--duration=20ms", "--json=lock.json")
    (folder / "ones.u64").write_bytes(b"".join(n.to_bytes(8, "little") for n in [1, 2, 1, 3, 1] * 50))
    run("cachesim", "--trace=ones.u64", "--size=1,2,3", "--json=cachesim.json")
    results = ["run", "bench", "layout", "model", "lock", "cachesim"]
    for name in results:
        run("report", f"{name}.json", "-o", f"{name}.html")
    run("report", "run.json", "run.json", *(f"{name}.json" for name in results), "-o", "all.html")
    return [folder / f"{name}.html" for name in [*results, "direct", "all"]]


def check(browser, page, width):
    faults = []
    plain = chromium(browser, page.as_uri(), f"--window-size={width},900", "--dump-dom")
    if "</article>" not in plain.stdout:
        faults.append(f"does not open: {plain.stderr}")
    faults += [line for line in plain.stderr.splitlines() if "CONSOLE" in line]
    copy = page.with_suffix(".checked.html")
    text, removed = POLICY.subn("", page.read_text(encoding="utf-8"))
    if removed != 1:
        faults.append("has no policy that forbids scripts")
    copy.write_text(text.replace("</body>", CHECK + "</body>"), encoding="utf-8")
    dom = chromium(browser, copy.as_uri(), f"--window-size={width},900", "--dump-dom").stdout
    found = re.search(r'data-result="([^"]*)"', dom)
    if not found:
        return faults + ["the check did not run"]
    result = json.loads(found.group(1).replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&"))
    if result["charts"] == 0:
        faults.append("has no chart")
    print(f"{page.name} at {result['width']}: {result['charts']} charts, {len(faults + result['faults'])} faults")
    return faults + result["faults"]


def main():
    browser = shutil.which("chromium")
    if browser is None:
        print("skipped: no chromium; install it with: apt-get install --no-install-recommends chromium")
        return 77
    latchkey, failed = str(Path(sys.argv[1]).resolve()), False
    with tempfile.TemporaryDirectory() as folder:
        for page in make_pages(latchkey, Path(folder)):
            for name, width in WIDTHS.items():
                for fault in check(browser, page, width):
                    print(f"{page.name}, {name}: {fault}")
                    failed = True
                for scheme in ("light", "dark") if len(sys.argv) > 2 else ():
                    out = Path(sys.argv[2]).resolve() / f"{page.stem}-{name}-{scheme}.png"
                    chromium(browser, page.as_uri(), f"--window-size={width},3000", f"--screenshot={out}",
                             f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
