"""The page of a machine in a real browser: drawn, quiet, readable by day, by night and by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import chromium
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import fingerprints

from tare.features.machine.fingerprint import page as fingerprint_page
from tare.render import files

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(chromium.binary() is None, reason="Chromium is not installed"),
]
CHARTS = "[...document.querySelectorAll('.chart')]"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")

    def write(name: str, **asked: object) -> Path:
        made = fingerprints.make(**asked)
        command = "tare fingerprint --full"
        page = fingerprint_page.make(made, fingerprints.probes(), command)
        return files.write(page, folder / name)[0]

    return {"small": write("small.html"), "large": write("large.html", cpus=128),
            "part": write("part.html", only="memory.latency")}  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser() as opened:
        yield opened


@pytest.mark.parametrize("name", ["small", "large", "part"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_chart_is_drawn_within_the_screen(browser, pages, name, width, scheme):
    browser.requests.clear()
    browser.complaints.clear()
    browser.show(pages[name], width, 900, scheme=scheme)
    assert browser.ask(f"{CHARTS}.every(c => c.dataset.drawn === 'yes')")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    wide = "c => c.querySelector('svg').getBoundingClientRect().right > innerWidth + 1"
    assert browser.ask(f"{CHARTS}.filter({wide}).map(c => c.dataset.spec)") == []
    marks = f"{CHARTS}.map(c => c.querySelectorAll('svg path').length)"
    assert min(browser.ask(marks)) > 3
    assert browser.complaints == []
    assert browser.requests == [pages[name].resolve().as_uri()]


def test_the_staircase_names_its_caches(browser, pages):
    browser.show(pages["small"], 1280, 900)
    told = browser.ask(
        "document.querySelector('#chart-memory-latency svg').textContent.replace(/\\s+/g, ' ')"
    )
    for word in ("L1", "L2", "L3", "page 4 KiB", "page 2 MiB", "64 KiB", "time [ns]"):
        assert word in told


def test_what_the_machine_is_stands_in_the_first_screen(browser, pages):
    for size in ((1280, 800), (390, 844)):
        browser.show(pages["small"], *size)
        bottom = "document.querySelector('.first').getBoundingClientRect().bottom"
        assert browser.ask(bottom) < size[1]
        assert browser.ask("document.querySelectorAll('.badge').length") == 0
