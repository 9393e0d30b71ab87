"""The page in a real browser: charts drawn, nothing fetched, nothing overflowing."""

from __future__ import annotations

import sys
from pathlib import Path

import chromium
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import journals
import synthetic

from tare.experiment import report
from tare.wiring import SUPPLIES

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(chromium.binary() is None, reason="Chromium is not installed"),
]
LONG = "a_workload_whose_name_nobody_thought_would_ever_be_on_a_page_" * 2


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    def behave(levels: dict[str, str]) -> synthetic.Behaviour:
        worse = 3 if levels["workers"] == "2" or levels["platform"] == "docker" else 1
        return synthetic.Behaviour(spread=0.01 * worse, waiting=0.6, inputs=0.01)

    made = synthetic.make(
        behave,
        workloads=("exp_float", LONG),
        platforms=("bare", "unshare", "docker", "docker/isolate"),
        pinnings=("none", "spread"),
        trials=16,
        iterations=2,
        inputs=4,
        notes=["isolate was left out: it is not on PATH."],
    )
    return report.write(journals.write(made, tmp_path_factory.mktemp("page") / "out"), SUPPLIES)[0]


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser() as opened:
        yield opened


@pytest.fixture
def shown(browser, written):
    """Open the page as asked, with what it requests and complains of from then on."""

    def show(*size: int, scheme: str = "light") -> chromium.Browser:
        browser.requests.clear()
        browser.complaints.clear()
        browser.show(written, *size, scheme=scheme)
        return browser

    return show


CHARTS = "[...document.querySelectorAll('.chart')]"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_every_chart_is_drawn_and_nothing_is_fetched(shown, written, size, scheme):
    page = shown(*size, scheme=scheme)
    assert page.ask(f"{CHARTS}.length") >= 7
    assert page.ask(f"{CHARTS}.every(c => c.dataset.drawn === 'yes')")
    sizes = page.ask(f"{CHARTS}.map(c => c.querySelector('svg').getBoundingClientRect().height)")
    assert min(sizes) > 40
    marks = page.ask(f"{CHARTS}.map(c => c.querySelectorAll('svg path').length)")
    assert min(marks) > 3
    assert page.complaints == []
    assert page.requests == [written.resolve().as_uri()]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_never_scrolls_sideways(shown, width):
    page = shown(width, 844)
    assert page.ask("document.documentElement.scrollWidth") <= width
    wide = "e => e.getBoundingClientRect().right > innerWidth + 1"
    beyond = f"[...document.querySelectorAll('p, h1, h2, dl, li, nav, figcaption')].filter({wide})"
    assert page.ask(f"{beyond}.map(e => e.textContent.slice(0, 40))") == []


@pytest.mark.parametrize("width", [390, 1280])
def test_no_legend_is_cut(shown, width):
    page = shown(width, 844)
    right = "e.getBoundingClientRect().right > c.getBoundingClientRect().right + 1"
    cut = f"[...c.querySelectorAll('.role-legend')].filter(e => {right})"
    assert page.ask(f"{CHARTS}.some(c => c.querySelector('.role-legend') !== null)")
    assert page.ask(f"{CHARTS}.flatMap(c => {cut}.map(e => e.textContent))") == []


def test_the_answer_is_in_the_first_screen(shown):
    for size in ((1280, 800), (390, 844)):
        page = shown(*size)
        assert page.ask("document.querySelector('.first').getBoundingClientRect().bottom") < size[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_page(shown, scheme):
    """WCAG's contrast of 4.5 for text of page and charts, 3 for marks."""
    page = shown(1280, 900, scheme=scheme)
    page.ask(
        """
        window.luminance = (name) => {
          const box = document.body.appendChild(document.createElement('i'));
          box.style.color = `var(--${name})`;
          const rgb = getComputedStyle(box).color.match(/\\d+/g).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          box.remove();
          return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
        };
        window.contrast = (a, b) => {
          const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
          return (x + 0.05) / (y + 0.05);
        };
        """
    )
    for name in ("ink", "soft", "link", "open"):
        assert page.ask(f"contrast('{name}', 'page')") >= 4.5, name
    for name in ("mark", "quiet", *(f"s{i}" for i in range(8))):
        assert page.ask(f"contrast('{name}', 'page')") >= 3, name


def test_dark_is_dark_in_the_charts_too(shown):
    def ink() -> list[int]:
        told = page.ask(
            "getComputedStyle(document.querySelector('.chart svg .role-title-text text')).fill"
        )
        return [int(v) for v in told[4:-1].split(",")]

    page = shown(1280, 900)
    assert max(ink()) < 100
    page = shown(1280, 900, scheme="dark")
    assert min(ink()) > 180


def test_paper(shown, tmp_path):
    page = shown(1280, 900, scheme="dark")
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.call("Emulation.setEmulatedMedia", media="")
    page.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_without_scripts_everything_is_told(browser, written):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=written.resolve().as_uri())
        browser.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        drawn = browser.ask("document.querySelectorAll('.chart svg').length")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    captions = browser.ask(
        "[...document.querySelectorAll('figcaption span')].map(e => e.textContent.length)"
    )
    assert drawn == 0
    assert len(captions) >= 7
    assert min(captions) > 40
