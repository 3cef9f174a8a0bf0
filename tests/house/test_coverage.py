"""Rows and tests hold each other: every row has its tests, in rooms that can prove it, and every test names a row."""

from __future__ import annotations

from house import coverage
from house.coverage import PAGE, markdown, proofs, rows, unproven
from tenantry_registry.rules import RULES


def test_every_test_names_rows_that_exist() -> None:
    known = {row.id for row in rows()}
    assert [f"{proof.room}: {proof.test} names {proof.row}" for proof in proofs() if proof.row not in known] == []


def test_every_row_of_kit_check_wire_and_host_has_a_test_in_a_room_that_can_prove_it() -> None:
    assert unproven("ACWH") == []


def test_every_row_has_a_test() -> None:
    named = {proof.row for proof in proofs()}
    assert [row.id for row in rows() if row.id not in named] == []


def test_the_page_is_what_the_markers_say() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run: python tests/house/coverage.py"


def test_rules_name_rows_that_exist() -> None:
    known = {row.id for row in rows()}
    assert {row for rule in RULES.values() for row in rule.rows} <= known


def test_every_row_that_check_owes_has_a_rule() -> None:
    ruled = {row for rule in RULES.values() for row in rule.rows}
    assert [row.id for row in rows() if "C" in row.owes and row.id not in ruled] == []


def test_the_page_of_rules_is_the_table() -> None:
    from tenantry_registry.rules import markdown as table

    assert (coverage.TESTS.parent / "docs" / "rules.md").read_text("utf-8") == table()
