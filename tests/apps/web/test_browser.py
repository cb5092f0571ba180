"""From a person's seat: a real service, a real browser, and a checker of accessibility."""

import re
from pathlib import Path

import httpx
import pytest

from ract.data import datasets

PHONE, DESK = (390, 844), (1000, 900)


@pytest.fixture(scope="module")
def service(files, tmp_path_factory, run_service):
    folder = tmp_path_factory.mktemp("served")
    with run_service(
        files / "model.ract", str(folder / "promises.db"), folder / "log", "--workers", "2"
    ) as running:
        yield running


class Seat:
    """What a person does in front of a browser."""

    def __init__(self, browser):
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        self.browser, self._css = browser, By.CSS_SELECTOR
        # A page that is being replaced is not there yet, and the driver says so in many ways.
        self._wait = WebDriverWait(browser, 60, ignored_exceptions=[WebDriverException])

    def open(self, address, size=DESK):
        self.browser.set_window_size(*size)
        self.browser.get(address)

    def all(self, css):
        return self.browser.find_elements(self._css, css)

    def press(self, css):
        """Press what is there, by the keyboard."""
        from selenium.webdriver.common.keys import Keys

        def pressed(browser):
            browser.find_element(self._css, css).send_keys(Keys.ENTER)
            return True

        self._wait.until(pressed)

    def write(self, css, text):
        element = self.browser.find_element(self._css, css)
        element.clear()
        element.send_keys(text)

    @property
    def text(self):
        return self.browser.find_element(self._css, "main").text

    def until(self, condition):
        return self._wait.until(lambda _: condition())

    def settled(self):
        """Wait until plans have been asked anew."""
        self.until(lambda: not self.all("#ways.busy"))


@pytest.fixture
def seat(browser):
    browser.get_log("browser")
    seat = Seat(browser)
    yield seat
    problems = [
        entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
    browser.delete_all_cookies()
    assert problems == []


def refused(service, k):
    """The k-th refused person with a plan: their key, case and link."""
    headers = {"authorization": f"Bearer {service.keys['case-worker']}"}
    rows = datasets.load_loans(60, random_state=3).frame.round(0).to_dict("records")
    with httpx.Client(base_url=service.address, headers=headers, timeout=60) as client:
        people = [{"person": f"B-{i}", "values": row} for i, row in enumerate(rows)]
        body = {"people": people, "keep": True}
        decisions = client.post("/decide", json=body).raise_for_status().json()["decisions"]
        plans = client.post("/plans", json={"people": people, "n_alternatives": 1}).json()["plans"]
        found = [
            i for i, plan in enumerate(plans)
            if plan["alternatives"] and not decisions[i]["accepted"]
        ]  # fmt: skip
        case = decisions[found[k]]["case"]
        link = client.post(f"/cases/{case}/link").json()["link"]
    return f"B-{found[k]}", case, link


def test_a_person_finds_a_way_accepts_it_and_comes_back(service, seat):
    person, case, link = refused(service, 0)
    seat.open(link, PHONE)
    assert person in seat.text and "We are sorry" in seat.text
    first = seat.all("button[data-lock]")[0].get_attribute("data-lock")
    seat.press(f"button[data-lock='{first}']")
    seat.settled()
    seat.until(lambda: not seat.all(f"button[data-lock='{first}']"))
    assert seat.all(f"input[name=lock][value='{first}']")[0].is_selected()
    assert "Ways found" in seat.all("#said")[0].get_attribute("textContent")
    assert seat.browser.current_url == f"{service.address}/my"  # the page was not left
    table = seat.all(".way")[0].text
    seat.press("button[name=way]")
    seat.until(lambda: "Our promise to you" in seat.text)
    box = seat.all(".promise")[0].text
    assert "even if our rules have changed" in box
    needed = re.findall(r"(?:raise|lower|change) it to (\S+)", table)
    assert needed and all(line in box for line in needed)
    # They carry it out, and say so.
    seat.press("details:not([open]) summary")
    for row in seat.all(".promise tbody tr"):
        name = row.find_element("css selector", "th").text.replace(" ", "").lower()
        goal = row.find_elements("css selector", "td")[1].find_element("tag name", "strong").text
        inputs = [
            one for one in seat.all("[name^='value:']")
            if one.get_attribute("name").removeprefix("value:").lower() == name
        ]  # fmt: skip
        _enter(seat, inputs[0], goal)
    seat.press("form[action='/my/report'] button")
    seat.until(lambda: "You have told us of a change" in seat.text)
    assert "our promise means a yes" in seat.text
    # A case worker checks it and redeems the promise.
    seat.open(f"{service.address}/login")
    seat.write("input[name=key]", service.keys["case-worker"])
    seat.press("button.main")
    seat.until(lambda: seat.all("input[name=search]"))
    seat.write("input[name=search]", person)
    seat.press("form[role=search] button")
    seat.until(lambda: "has reported a change" in seat.text)
    seat.open(f"{service.address}/desk/{case}")
    for row in seat.all("form[action$='/redeem'] tbody tr"):
        row.find_element("css selector", "[name^='evidence:']").send_keys("seen")
    seat.press("button.redeem")
    seat.until(lambda: "accepted by a promise" in seat.text)
    seat.open(link, PHONE)
    assert "We said yes" in seat.text and "we kept our promise" in seat.text


def _enter(seat, field, goal):
    """Enter what is needed into a field of the form."""
    from selenium.webdriver.support.ui import Select

    seat.browser.execute_script("arguments[0].closest('details').open = true", field)
    if field.get_attribute("type") == "checkbox":
        if field.is_selected() != (goal == "yes"):
            field.click()
    elif field.tag_name == "select":
        Select(field).select_by_visible_text(goal)
    else:
        field.clear()
        field.send_keys(goal.replace(",", ""))


def test_sliders_bound_what_is_possible(service, seat):
    _, _, link = refused(service, 1)
    seat.open(link)
    high = seat.all("input[type=range][name^='high:']")
    for slider in high:  # nothing may rise
        seat.browser.execute_script(
            "arguments[0].value = arguments[0].min;"
            "arguments[0].dispatchEvent(new Event('input', {bubbles: true}));", slider
        )  # fmt: skip
    seat.browser.execute_script(
        "arguments[0].dispatchEvent(new Event('change', {bubbles: true}))", high[0]
    )
    seat.settled()
    assert "raise it to" not in seat.all("#ways")[0].text
    output = high[0].find_element("xpath", "./ancestor::label//output").text
    assert float(output.replace(",", "")) == float(high[0].get_attribute("min"))


def test_pages_are_read_on_a_phone_and_with_a_screen_reader(service, seat, faults_of_page):
    _, case, link = refused(service, 2)
    checked = 0

    def check(address, size):
        nonlocal checked
        seat.open(address, size)
        wide = seat.browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= seat.browser.execute_script("return window.innerWidth"), address
        assert faults_of_page() == [], address
        checked += 1

    for language in ("en", "de", "fr"):
        seat.open(link)
        check(f"{service.address}/my?language={language}", PHONE)
        check(f"{service.address}/my/try", PHONE)
    check(f"{service.address}/my?language=en", DESK)
    seat.press("button[name=way]")
    seat.until(lambda: "Our promise to you" in seat.text)
    check(f"{service.address}/my", PHONE)
    check(f"{service.address}/login", PHONE)
    seat.write("input[name=key]", service.keys["admin"])
    seat.press("button.main")
    seat.until(lambda: seat.all("input[name=search]"))
    for path in ("/desk", f"/desk/{case}", "/auditor"):
        for size in (PHONE, DESK):
            check(service.address + path, size)
    assert checked == 15


def test_no_page_asks_for_anything_from_elsewhere(service):
    templates = Path(__file__).parents[3] / "src" / "ract" / "apps" / "web"
    for path in [*templates.glob("templates/*"), *templates.glob("static/*")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(", text), path


def test_a_person_tries_values_without_leaving_the_page(service, seat):
    _, _, link = refused(service, 2)
    seat.open(link, PHONE)
    seat.press("a[href='/my/try']")
    seat.until(lambda: seat.all("#try"))
    assert " alone: " in seat.text and not seat.all("#tried .box")
    width = seat.browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= PHONE[0]
    seat.write("input[name='value:Income']", "1")
    seat.press("#try button.main")
    seat.until(lambda: seat.all("#tried .box"))
    assert "Not yet" in seat.text and seat.all("#try")  # the page stayed
