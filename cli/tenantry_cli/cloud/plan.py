"""What a deployment would do, decided before anything is done: resources by what happens to them, and the bill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tenantry_cli.output import Terminal, many, size

ACTIONS: Final = ("add", "change", "replace", "may-replace", "destroy", "keep")
SAID: Final = {"may-replace": "may replace", "keep": "let go"}
QUIET: Final = frozenset({"AWS::Lambda::Version", "AWS::Lambda::Permission"})  # made anew with every build
LISTED: Final = 12  # of additions in one stack; the rest are counted


@dataclass(frozen=True, slots=True)
class Change:
    """One resource. `changed` names the properties that differ."""

    stack: str
    id: str
    type: str
    action: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`zips` as the builder describes them, `bill` as infra's costs.py prints it, `bootstrap` regions to prepare."""

    stage: str
    changes: tuple[Change, ...]
    zips: tuple[Mapping[str, Any], ...]
    bill: Mapping[str, Any]
    bootstrap: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many resources each action concerns."""
        found = Counter(change.action for change in self.changes)
        return {action: found[action] for action in ACTIONS if found[action]}

    @property
    def said(self) -> str:
        """The counts in words, without what only follows the code."""
        loud = Counter(change.action for change in self.changes if change.type not in QUIET)
        words = [f"{loud[action]} to {SAID.get(action, action)}" for action in ACTIONS if loud[action]]
        return ", ".join(words) or "nothing changes"

    @property
    def empty(self) -> bool:
        return not self.changes and not self.bootstrap

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON."""
        changes = [{"stack": c.stack, "id": c.id, "type": c.type, "action": c.action, "changed": list(c.changed)}
                   for c in self.changes]  # fmt: skip
        return {"stage": self.stage, "counts": self.counts, "changes": changes, "bootstrap": list(self.bootstrap),
                "zips": [dict(z) for z in self.zips], "month": dict(self.bill)}  # fmt: skip


def read(stage: str, changes: Iterable[Mapping[str, Any]], **rest: Any) -> Plan:
    """The plan from what infra's diff.mjs printed."""
    found = (Change(c["stack"], c["id"], c["type"], c["action"], tuple(c["changed"])) for c in changes)
    return Plan(stage, tuple(found), **rest)


def show(terminal: Terminal, plan: Plan) -> None:
    """The plan as a person reads it: zips, then each stack's changes, then the bill."""
    for made in plan.zips:
        terminal.step("built", f"{made['room']}  {size(made['size'])}", made["sha256"][:12])
    for region in plan.bootstrap:
        terminal.step("bootstrap", f"{region}: the CDK's own bucket and roles")
    stacks = sorted({change.stack for change in plan.changes}, key=_order)
    for stack in stacks:
        terminal.line()
        terminal.line(f"  {stack}")
        _show_stack(terminal, [c for c in plan.changes if c.stack == stack])
    terminal.line()
    terminal.step("plan", plan.said, style="bold")
    show_bill(terminal, plan.bill)


def show_bill(terminal: Terminal, bill: Mapping[str, Any]) -> None:
    """What a month costs: the sum, what it lacks, and the larger lines with the date of their prices."""
    lines = sorted((i for i in bill["items"] if i["dollars"] is not None), key=lambda i: -i["dollars"])
    lacking = f", without {', '.join(bill['unknown'])}: unknown" if bill["unknown"] else ""
    terminal.step("a month", f"about ${bill['total']:,.2f} at {bill['requests']:,.0f} requests{lacking}")
    for line in lines[:5]:
        terminal.step("", f"${line['dollars']:,.2f}  {line['what']}", f"prices of {line['of']}")


def _show_stack(terminal: Terminal, changes: Sequence[Change]) -> None:
    loud = [c for c in changes if c.action != "add" and c.type not in QUIET]
    for change in loud:
        style = "bold red" if change.action in ("replace", "destroy") else ""
        word = SAID.get(change.action, change.action)
        terminal.step(word, f"{change.type.removeprefix('AWS::')}  {change.id}", ", ".join(change.changed), style=style)
    added = Counter(c.type.removeprefix("AWS::") for c in changes if c.action == "add" and c.type not in QUIET)
    for kind, count in added.most_common(LISTED):
        terminal.step("add", f"{kind}" + (f"  x {count}" if count > 1 else ""))
    if len(added) > LISTED:
        terminal.step("add", f"and {many(len(added) - LISTED, 'more kind')}")
    quiet = sum(c.type in QUIET for c in changes)
    if quiet:
        terminal.step("", f"and {quiet} versions and permissions, which follow the code")


def _order(stack: str) -> int:
    parts = ("Storage", "Functions", "Edge", "Watch")
    return next((n for n, part in enumerate(parts) if stack.endswith(part)), len(parts))
