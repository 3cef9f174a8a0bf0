"""What a plugin asks while its tool runs: what the page says meanwhile, and every way to answer."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import House
from person import Person
from playwright.sync_api import Locator, expect
from scripted import DESTROYS, READS, Refusal, Scripted, result

FORM: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
COPIED = """async () => {
  let text;
  do text = await navigator.clipboard.readText(); while (!text.includes("def test_"));
  return text;
}"""


def asking(plugin: Scripted, request: dict[str, Any]) -> None:
    """Add a tool `ask` that makes one request of its client and tells what came back."""

    def ask(_: dict[str, Any]) -> dict[str, Any]:
        answers = plugin.calls[-1].get("inputResponses")
        if answers is None:
            return {"resultType": "input_required", "inputRequests": {"it": request}, "requestState": "sealed"}
        return result({"answer": answers["it"]})

    plugin.tool("ask", ask, annotations=READS)


@pytest.fixture
def plugin(house: House) -> Scripted:
    return house.add(Scripted("questions", kind="kit"))


def question(person: Person) -> Locator:
    return person.page.get_by_role("group", name="The plugin asks you")


def answer(plugin: Scripted) -> dict[str, Any]:
    found: dict[str, Any] = plugin.calls[-1]["inputResponses"]["it"]
    return found


def test_a_tool_that_needs_approval_is_not_said_to_ask(person: Person, plugin: Scripted) -> None:
    plugin.tool("erase", annotations=DESTROYS)
    asking(plugin, {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}})
    person.open("questions")
    tools = person.page.get_by_role("list", name="Tools", exact=True).get_by_role("button")
    expect(tools.filter(has_text="erase")).to_contain_text("needs approval")
    expect(tools.filter(has_text="Ask")).not_to_contain_text("needs approval")


def test_the_call_waits_for_the_answer_and_says_so(person: Person, plugin: Scripted) -> None:
    asking(plugin, {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}})
    person.open("questions")
    card = person.run("ask")
    expect(card.get_by_role("status")).to_have_text("Waiting for your answer")
    expect(card).not_to_contain_text("Fulfilling")
    question(person).get_by_role("button", name="Answer").click()
    expect(card.get_by_role("status")).to_have_text("Called ask")
    expect(person.pane("Tool logs")).not_to_contain_text("Fulfilling")


@pytest.mark.parametrize(
    ("button", "action", "constant"),
    [("Decline", "decline", "DECLINE"), ("Close this question", "cancel", "CANCEL")],
)
@pytest.mark.parametrize(
    "params",
    [{"message": "Who?", "requestedSchema": FORM}, {"mode": "url", "message": "Pay.", "url": "https://pay.example/"}],
    ids=["form", "link"],
)
def test_a_question_is_declined_or_closed_which_is_not_the_same(
    person: Person, plugin: Scripted, params: dict[str, Any], button: str, action: str, constant: str
) -> None:
    asking(plugin, {"method": "elicitation/create", "params": params})
    person.open("questions")
    card = person.run("ask")
    question(person).get_by_role("button", name=button).click()
    expect(card.get_by_role("status")).to_have_text("Called ask")
    assert answer(plugin) == {"action": action}
    card.get_by_role("button", name="Copy as pytest").click()
    copied: str = person.page.evaluate(COPIED)
    assert f"answers=[{constant}]" in copied
    assert f"from tenantry.testing import {', '.join(sorted([constant, 'Client', 'load']))}" in copied


def test_a_page_to_visit_is_opened_when_the_person_says_so(person: Person, plugin: Scripted, house: House) -> None:
    url = f"{house.origin}/_host/state"
    asking(plugin, {"method": "elicitation/create", "params": {"mode": "url", "message": "Pay.", "url": url}})
    person.open("questions")
    card = person.run("ask")
    with person.page.context.expect_page() as opened:
        question(person).get_by_role("button", name="Open link").click()
    expect(opened.value).to_have_url(url)
    expect(card.get_by_role("status")).to_have_text("Called ask")
    assert answer(plugin) == {"action": "accept"}


def test_a_plugin_is_told_of_the_folders_that_the_person_types(person: Person, plugin: Scripted) -> None:
    asking(plugin, {"method": "roots/list"})
    person.open("questions")
    card = person.run("ask")
    form = question(person)
    expect(form).to_contain_text("Which folders may it know of?")
    form.get_by_role("button", name="Add an item").click()
    form.get_by_role("textbox").last.fill("/home/ada/hay & straw")
    form.get_by_role("button", name="Add an item").click()
    form.get_by_role("textbox").last.fill("file:///srv/barn")
    form.get_by_role("button", name="Answer").click()
    expect(card.get_by_role("status")).to_have_text("Called ask")
    uris = ["file:///home/ada/hay%20&%20straw", "file:///srv/barn"]
    assert answer(plugin) == {"roots": [{"uri": uri} for uri in uris]}
    card.get_by_role("button", name="Copy as pytest").click()
    assert f'answers=[["{uris[0]}", "{uris[1]}"]]' in person.page.evaluate(COPIED)
    again = person.run("ask")
    question(person).get_by_role("button", name="Answer").click()
    expect(again.get_by_role("status")).to_have_text("Called ask")
    assert answer(plugin) == {"roots": []}


def test_what_this_page_can_t_be_asked_is_said_in_words(person: Person, plugin: Scripted) -> None:
    needs = {"sampling": {"tools": {}}}
    plugin.tool("think", lambda _: Refusal(-32021, "Missing capability", {"requiredCapabilities": needs}))
    person.open("questions")
    card = person.run("think")
    expect(card.get_by_role("alert")).to_contain_text("The tool wants the client's model, with tools (sampling.tools)")
    expect(card.get_by_role("alert")).to_contain_text("this page does not")
