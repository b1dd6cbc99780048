"""The site in a real browser: Chromium without a window, through Selenium."""

import functools
import http.server
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

PHONE, DESKTOP = (390, 844), (1280, 900)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium or chromedriver is not installed (Debian: chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    words = ["headless=new", "disable-dev-shm-usage", "disable-gpu"]
    words += [f"user-data-dir={tmp_path_factory.mktemp('profile')}"] + ["no-sandbox"] * (os.geteuid() == 0)
    for word in words:
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    started.set_page_load_timeout(60)
    yield started
    started.quit()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *told: object) -> None:
        pass


@pytest.fixture(scope="module", params=["file", "http"])
def shown(request: pytest.FixtureRequest, site: Path) -> Iterator[Any]:
    """The site as a folder, and as `python -m http.server` serves it."""
    if request.param == "file":
        yield site
        return
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield SimpleNamespace(as_uri=lambda: f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def open_page(browser: Any, site: Path, page: str, size: tuple[int, int] = DESKTOP) -> None:
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get("about:blank")
    address = f"{site.as_uri()}/{page}"
    browser.get(address)
    # The driver may come back before the page's deferred script has run.
    state = "return [location.href, document.readyState]"
    wait_until(browser, lambda b: b.execute_script(state) == [address, "complete"])


def texts(browser: Any, selector: str) -> list[str]:
    found = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())"
        ".map(e => e.textContent.trim())",
        selector,
    )
    return [" ".join(str(text).split()) for text in found]


def click(browser: Any, selector: str) -> None:
    browser.execute_script("document.querySelector(arguments[0]).click()", selector)


def choose(browser: Any, name: str, value: str) -> None:
    browser.execute_script(
        "const e = document.querySelector('form.filters').elements[arguments[0]]; e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', {bubbles: true}))",
        name,
        value,
    )


def complaints(browser: Any) -> list[str]:
    told = browser.get_log("browser")
    return [entry["message"] for entry in told if entry["level"] in ("SEVERE", "WARNING")]


def wait_until(browser: Any, holds: Callable[[Any], bool]) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 30).until(holds)


def wait_for(browser: Any, text: str) -> None:
    wait_until(browser, lambda b: text in b.find_element("tag name", "body").text)


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_pages_open_without_complaints_and_fit(
    browser: Any, site: Path, shown: Any, size: tuple[int, int]
) -> None:
    browser.get_log("browser")
    for path in sorted(site.rglob("*.html")):
        open_page(browser, shown, str(path.relative_to(site)), size)
        assert texts(browser, "h1"), path
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], f"{path.name} is {width} wide on a screen of {size[0]}"
        assert complaints(browser) == [], path


def test_the_overview_filters(browser: Any, site: Path) -> None:
    open_page(browser, site, "index.html")
    rows = "#overview tbody th[scope=row]"
    assert texts(browser, rows) == ["random_forest", "majority", "ffnsl"]
    choose(browser, "track", "pretrained")
    assert texts(browser, rows) == ["random_forest", "majority"]
    choose(browser, "contest", "grids")
    assert texts(browser, rows) == ["random_forest", "majority"]
    choose(browser, "text", "maj")
    assert texts(browser, rows) == ["majority"]
    assert texts(browser, "form.filters output") == ["1 learner"]
    choose(browser, "metric", "brier_score")
    wait_until(browser, lambda b: texts(b, "#overview thead th")[1].startswith("Brier score"))
    assert texts(browser, rows) == ["majority"] and texts(browser, "figure.story figcaption strong") == [
        "grids"
    ]
    assert "Brier score" in texts(browser, "figure.story figcaption")[0]
    wait_until(browser, lambda b: b.find_elements("css selector", "figure.story canvas"))
    choose(browser, "text", "nobody")
    assert texts(browser, rows) == [] and texts(browser, ".nothing")[0].startswith("No learner of grids")
    address = browser.execute_script("return location.hash")
    assert address == "#metric=brier_score&track=pretrained&text=nobody"
    open_page(browser, site, f"index.html{address}")
    wait_until(browser, lambda b: texts(b, ".nothing"))
    click(browser, ".nothing button")
    assert (
        len(texts(browser, rows)) == 3
        and browser.execute_script("return location.hash") == "#metric=brier_score"
    )


def test_any_two_are_compared(browser: Any, shown: Any) -> None:
    open_page(browser, shown, "index.html")
    click(browser, "#overview tbody tr:nth-child(1) input")
    assert texts(browser, "p.pair") == ["Choose a second learner to compare with random_forest."]
    click(browser, "#overview tbody tr:nth-child(2) input")
    click(browser, "p.pair a")
    wait_until(browser, lambda b: texts(b, "h1") == ["random_forest and majority"])
    wait_until(browser, lambda b: texts(b, "#pair tbody tr"))
    first = texts(browser, "#pair tbody tr")[0]
    assert first.startswith("grids") and re.search(r"[+-]\d+\.\d.*(better|tie|worse).* to ", first)
    assert set(texts(browser, "#pair .legend button")) == {"random_forest", "majority"}
    assert any("if" in rule for rule in texts(browser, "#pair .rule"))
    assert {"concept labels", "trials"} <= set(texts(browser, "#pair section:last-of-type th"))
    open_page(browser, shown, "compare.html#random-forest,ffnsl")
    wait_until(browser, lambda b: "not compared" in texts(b, "#pair tbody tr")[0])
    open_page(browser, shown, "compare.html#nobody,ffnsl")
    wait_until(browser, lambda b: "There is no learner nobody" in texts(b, "#pair")[0])
    assert complaints(browser) == []


PAGES = ("index.html", "index.html#text=nobody", "benchmark/grids.html", "learner/random-forest.html")
PAGES += ("compare.html#random-forest,majority", "about.html", "RUN")


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_pages_are_accessible(browser: Any, site: Path, scheme: str, size: tuple[int, int]) -> None:
    """axe finds nothing: contrast, names, captions and scopes, headings, focus."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text()
    scheme_is = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme_is)
    run = re.search(r"run\.html#[^\"]+", (site / "learner/random-forest.html").read_text())
    assert run is not None
    for page in PAGES:
        open_page(browser, site, run[0] if page == "RUN" else page, size)
        wait_until(browser, lambda b: texts(b, "main table, main .nothing, main li"))
        click(browser, "body")
        browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        browser.execute_script(axe)
        found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == [], page
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_overview_filters_after_going_back(browser: Any, site: Path) -> None:
    open_page(browser, site, "index.html")
    choose(browser, "contest", "grids")
    click(browser, "#overview tbody tr:not([hidden]) a")
    wait_for(browser, "Learned rules")
    browser.back()
    wait_for(browser, "Which learners are better")
    contest = "return document.querySelector('form.filters').elements.contest.value"
    wait_until(browser, lambda b: b.execute_script(contest) == "grids")
    assert "on grids" in texts(browser, "#overview caption")[0]


def test_tables_sort_with_the_keyboard(browser: Any, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    open_page(browser, site, "benchmark/grids.html")
    table = "#learners table.sortable tbody th[scope=row]"
    before = texts(browser, table)
    heads = texts(browser, "#learners table.sortable thead th")
    assert heads[:2] == ["learner", "framework accuracy ↑"] and sorted(before) == [
        "ffnsl",
        "majority",
        "random_forest",
    ]
    button = browser.find_element("css selector", "#learners thead th:nth-child(1) button")
    button.send_keys(Keys.ENTER)
    assert texts(browser, table) == ["ffnsl", "majority", "random_forest"]
    button.send_keys(Keys.SPACE)
    assert texts(browser, table) == ["random_forest", "majority", "ffnsl"]
    sorts = browser.execute_script("return arguments[0].closest('th').getAttribute('aria-sort')", button)
    assert sorts == "descending"
    column = 1 + [head.split()[0] for head in heads].index("atoms")
    atoms = browser.find_element("css selector", f"#learners thead th:nth-child({column}) button")
    atoms.send_keys(Keys.ENTER)
    assert texts(browser, table)[0] == "majority"


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_charts_are_drawn_from_their_files(browser: Any, shown: Any, size: tuple[int, int]) -> None:
    from selenium.webdriver import ActionChains

    open_page(browser, shown, "benchmark/grids.html", size)
    place = browser.find_element("css selector", "div.chart[data-name=grids-rotate90-framework_accuracy]")
    over = place.find_element("css selector", ".u-over")
    lines = ["majority", "random_forest", "ffnsl in the paper"]
    assert sorted(texts(browser, f"#{mark(browser, place)} ~ .legend button")) == sorted(lines)
    point = "const c = arguments[0].chart; return [c.valToPos(0, 'x'), c.valToPos(c.data[3][0], 'y')]"
    x, y = browser.execute_script(point, place)
    left, top = x - over.size["width"] / 2, y - over.size["height"] / 2
    ActionChains(browser).move_to_element_with_offset(over, round(left) + 1, round(top)).perform()
    wait_until(browser, lambda b: any(", 0 %: " in note for note in texts(b, ".note")))
    seen = "return arguments[0].chart.series.slice(1).filter((one) => one.show).length"
    ink = "return arguments[0].querySelector('canvas').toDataURL()"
    before = browser.execute_script(ink, place)
    click(browser, f"#{mark(browser, place)} ~ .legend button")
    assert browser.execute_script(seen, place) == 3 * (len(lines) - 2)  # the paper's is off at first
    wait_until(browser, lambda b: b.execute_script(ink, place) != before)
    click(browser, f"#{mark(browser, place)} ~ .legend button")
    wait_until(browser, lambda b: b.execute_script(ink, place) == before)
    click(browser, f"#{mark(browser, place)} ~ details summary")
    wait_until(browser, lambda b: len(texts(b, "details[open] tbody tr")) > 1)
    assert complaints(browser) == []


def mark(browser: Any, place: Any) -> str:
    """An id by which selectors find a place."""
    browser.execute_script("arguments[0].id = 'place'", place)
    return "place"


def test_pictures_stand_for_charts_where_scripts_are_off(browser: Any, shown: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{shown.as_uri()}/benchmark/grids.html")
        pictures = browser.find_elements("css selector", "img.chart")
        assert len(pictures) > 5 and pictures[0].size["height"] > 100
        assert not any(place.is_displayed() for place in browser.find_elements("css selector", "div.chart"))
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_run_down_to_its_predictions(browser: Any, shown: Any) -> None:
    open_page(browser, shown, "learner/random-forest.html")
    click(browser, "td.runs a:last-of-type")
    wait_for(browser, "Command to reproduce")
    assert any(text.startswith("framework evaluation:") for text in texts(browser, "#run h3"))
    rows = browser.execute_script("return document.querySelectorAll('#run tbody tr').length")
    assert rows >= 25
    cards = texts(browser, "#run article.card")
    assert 1 < len(cards) <= 6 and all("Network saw" in card and "True label" in card for card in cards)
    assert any("Rules that fired" in card for card in cards)
    drawn = browser.execute_script("return document.querySelectorAll('#run svg image').length")
    assert drawn == len(cards) and not re.search(r"\.\d{5}", " ".join(texts(browser, "#run .facts")[:1]))
    record = json.loads(texts(browser, "#run details pre")[0] if texts(browser, "#run details pre") else "{}")
    assert record == {} or record["contest"] == "grids"
    assert complaints(browser) == []


@pytest.mark.parametrize("script", ["s.textContent = 'window.ran = 1'", "s.src = arguments[0]"])
def test_a_script_that_is_no_file_of_the_site_does_not_run(
    browser: Any, shown: Any, script: str, tmp_path: Path
) -> None:
    (tmp_path / "strange.js").write_text("window.ran = 1")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        open_page(browser, shown, "index.html")
        add = f"const s = document.createElement('script'), done = arguments[1]; {script};"
        add += "s.onload = s.onerror = () => done(1); document.head.append(s); if (!s.src) done(1)"
        browser.execute_async_script(add, f"http://127.0.0.1:{elsewhere.server_port}/strange.js")
        elsewhere.shutdown()
    assert browser.execute_script("return window.ran === undefined")
    assert any("Content Security Policy" in told for told in complaints(browser))


def test_a_run_that_is_not_there_says_so(browser: Any, site: Path) -> None:
    open_page(browser, site, "run.html#ffnsl/grids/00000000")
    wait_for(browser, "ffnsl has no run 00000000")
    open_page(browser, site, "run.html#../../x/0")
    assert "Select a run" in texts(browser, "#run")[0]


@pytest.mark.parametrize(
    ("rule", "language", "tokens"),
    [
        ('p(X) :- q("<b>"), not r, X < 3.', "asp", ["p", "X", ":-", "q", '"<b>"', "not", "X", "<", "3"]),
        ("player_1 if suit=h <= 0.5 and value > 3", "tree", ["if", "0.5", "3"]),
        ('"\\', "asp", ['"']),
        ("_" * 10_000, "asp", []),
    ],
)
def test_rules_are_coloured(browser: Any, site: Path, rule: str, language: str, tokens: list[str]) -> None:
    open_page(browser, site, "learner/ffnsl.html")
    assert ":-" in texts(browser, ".rule .k")
    pieces = "return coloured(...arguments).map((one) => (one.textContent ? [one.textContent] : one))"
    found = browser.execute_script(pieces, rule, language)
    assert [one[0] for one in found if isinstance(one, list)] == tokens
    assert "".join(one if isinstance(one, str) else one[0] for one in found) == rule


def test_dark_mode_is_dark(browser: Any, site: Path) -> None:
    for scheme, dark in (("dark", True), ("light", False)):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        open_page(browser, site, "index.html")
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        level = sum(int(part) for part in colour.strip("rgb()").split(",")[:3])
        assert (level < 200) == dark
