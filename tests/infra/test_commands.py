"""What `platform deploy`, `destroy` and `doctor` decide and say, with moto in AWS's place; nothing is deployed here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore import exceptions as errors
from moto import mock_aws
from tenantry_cli.cloud import asking, checks, plan, record
from tenantry_cli.cloud.account import BOOTSTRAP, Account, answering
from tenantry_cli.cloud.deployment import found_zips, same
from tenantry_cli.cloud.toolkit import EVENT, Toolkit
from tenantry_cli.main import run
from tenantry_cli.output import Terminal
from tenantry_registry.errors import PlatformError

BILL = {"requests": 1e6, "total": 3.5, "unknown": ["a fee"], "items": [
    {"what": "HTTP API", "dollars": 1.0, "fixed": False, "of": "2026-11"},
    {"what": "a fee", "dollars": None, "fixed": False, "of": "2025-01"}]}  # fmt: skip


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield


def standing(**more: object) -> record.Record:
    base = {"stage": "prod", "account": "1", "region": "eu-west-1", "url": "https://d.cloudfront.net",
            "api_url": "https://d.cloudfront.net/api", "store": "bucket", "at": 1.0}  # fmt: skip
    return record.Record(**{**base, **more})  # type: ignore[arg-type]


def aws_said(code: str) -> errors.ClientError:
    return errors.ClientError({"Error": {"Code": code, "Message": "No."}}, "Ask")


def by_name(found: list[checks.Check]) -> dict[str, checks.Check]:
    return {check.name: check for check in found}


def test_an_account_is_checked_and_each_gap_has_its_cure(aws: None) -> None:
    zones = boto3.client("route53")
    zones.create_hosted_zone(Name="example.com", CallerReference="1")
    boto3.client("ssm", region_name="us-east-1").put_parameter(Name=BOOTSTRAP, Value="29", Type="String")
    found = list(checks.account(Account("us-east-1"), stage="prod", domain="plugins.example.com", certificate=""))
    state = {check.name: check.state for check in found}
    assert state["credentials"] == state["zone"] == state["domain"] == state["bootstrap"] == "ok"
    assert state["isolation"] == "unknown"
    elsewhere = by_name(
        list(checks.account(Account("eu-west-1"), stage="dev", domain="plugins.example.org", certificate=""))
    )
    assert elsewhere["zone"].state == "fail"
    assert "--certificate" in elsewhere["zone"].cure
    assert elsewhere["bootstrap"].state in ("ok", "warn")


def test_without_a_domain_the_check_says_that_nothing_can_be_submitted(aws: None) -> None:
    found = by_name(list(checks.account(Account("us-east-1"), stage="dev", domain="", certificate="")))
    assert found["domain"].state == "warn"
    assert "Not submittable" in found["domain"].cure


@pytest.mark.parametrize(
    ("domain", "state"),
    [("plugins.example.com", "ok"), ("a" * 40 + ".example.com", "ok"), ("a" * 48 + ".example.com", "fail"),
     ("not a domain", "fail"), ("localhost", "fail")],
)  # fmt: skip
def test_a_domain_must_leave_room_for_plugins_in_one_label(domain: str, state: str) -> None:
    found = checks.label_of(domain)
    assert found.state == state


def test_no_credentials_is_said_once_and_nothing_else_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    found = list(checks.account(Account("us-east-1"), stage="prod", domain="", certificate=""))
    assert [(check.name, check.state) for check in found] == [("credentials", "fail")]


def test_a_region_that_is_none_is_met_with_those_like_it(aws: None) -> None:
    *_, last = checks.account(Account("us-eat-1"), stage="dev", domain="", certificate="")
    assert (last.name, last.state, last.code) == ("region", "fail", "aws.region")
    assert "us-east-1" in last.cure


class New(Account):
    """An account as AWS opens it: ten executions at a time."""

    def concurrency(self) -> int:
        return 10


@pytest.mark.parametrize(("stage", "state"), [("prod", "fail"), ("dev", "ok")])
def test_a_new_accounts_quota_is_too_small_for_prod(aws: None, stage: str, state: str) -> None:
    found = by_name(list(checks.account(New("us-east-1"), stage=stage, domain="", certificate="")))["quota"]
    assert found.state == state
    assert found.text.startswith("10 concurrent executions")
    assert ("higher quota" in found.cure) is (state == "fail")


@pytest.mark.parametrize(("stands", "state"), [(True, "ok"), (False, "fail"), (None, "unknown")])
def test_a_sandbox_that_stands_without_isolation_is_refused(aws: None, stands: bool | None, state: str) -> None:
    class Standing(Account):
        def isolates(self, function: str) -> bool | None:
            return stands

    found = by_name(list(checks.account(Standing("us-east-1"), stage="dev", domain="", certificate="")))["isolation"]
    assert found.state == state


def test_tools_of_another_version_are_refused_with_their_cure(tmp_path: Path) -> None:
    class Old(Toolkit):
        def versions(self) -> dict[str, str]:
            return {"node": "v18.0.0", "cdk": ""}

    old = by_name(list(checks.tools(Old(), lambda_python="2.7")))
    assert (old["node"].state, old["node"].cure) == ("fail", "Run `make setup`.")
    assert old["cdk"].state == "warn"
    here = by_name(list(checks.tools(Toolkit())))
    assert (here["node"].state, here["python"].state) == ("ok", "ok")


@pytest.mark.parametrize(
    ("raised", "code", "said", "hint"),
    [
        (aws_said("ExpiredToken"), "aws.credentials", "The AWS session here has ended.", "`aws sso login`"),
        (errors.UnauthorizedSSOTokenError(), "aws.credentials", "has ended", "`aws sso login`"),
        (aws_said("InvalidClientTokenId"), "aws.credentials", "does not know the credentials", "AWS_PROFILE"),
        (errors.ProfileNotFound(profile="ghost"), "aws.credentials", "There is no AWS profile", "list-profiles"),
        (errors.InvalidRegionError(region_name="us east"), "aws.region", "us east", "--region"),
        (aws_said("AccessDenied"), "aws.refused", "AWS answers AccessDenied: No.", "right"),
        (errors.EndpointConnectionError(endpoint_url="https://a"), "aws.unreachable", "did not answer", "HTTPS_PROXY"),
    ],
)
def test_what_aws_refuses_is_said_with_what_to_do(
    aws: None, raised: Exception, code: str, said: str, hint: str
) -> None:
    with pytest.raises(PlatformError) as refused, answering():
        raise raised
    assert refused.value.code == code
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_a_stage_that_is_none_is_met_with_those_there_are(aws: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["deploy", "--stage", "production", "--plan"]) == 1
    assert "deploy.stage" in (said := capsys.readouterr().err)
    assert "Use one of prod, dev, local" in said


def test_what_does_not_stand_is_not_taken_down(
    aws: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["destroy", "--stage", "dev", "--region", "us-east-1"]) == 0
    assert "no part of dev stands in us-east-1" in capsys.readouterr().out


def test_deploying_the_same_again_is_no_step_to_go_back(tmp_path: Path) -> None:
    for name, template in (("1", "{}"), ("2", "{}"), ("3", '{"more": 1}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Stack.template.json").write_text(template)
    assert same(tmp_path / "1", tmp_path / "2")
    assert not same(tmp_path / "1", tmp_path / "3")


def test_what_only_follows_the_code_is_not_counted_as_a_change() -> None:
    changes = [
        plan.Change("S-Functions", "Gateway", "AWS::Lambda::Function", "change", ("Code",)),
        plan.Change("S-Functions", "Old", "AWS::Lambda::Version", "destroy"),
        plan.Change("S-Functions", "New", "AWS::Lambda::Version", "add"),
    ]
    assert plan.Plan("prod", tuple(changes), (), BILL).said == "1 to change"
    assert plan.Plan("prod", (), (), BILL).said == "nothing changes"


def test_what_was_said_once_is_remembered_and_a_move_is_refused(tmp_path: Path) -> None:
    records = record.Records(tmp_path)
    records.write(standing(domain="plugins.example.com", notify="ops@example.com"))
    again = asking.wish("prod", environment={}, records=records)
    assert (again.region, again.domain, again.notify) == ("eu-west-1", "plugins.example.com", "ops@example.com")
    assert asking.wish("prod", domain="", environment={}, records=records).domain == ""
    with pytest.raises(PlatformError, match="can't move"):
        asking.wish("prod", region="us-east-1", environment={}, records=records)
    assert asking.wish("dev", environment={"AWS_REGION": "eu-north-1"}, records=records).region == "eu-north-1"


def test_a_record_is_read_as_written_and_keeps_the_assemblies_that_count(tmp_path: Path) -> None:
    records = record.Records(tmp_path)
    assert records.read("prod") is None
    for name in ("0001", "0002", "0003"):
        (records.assemblies("prod") / name).mkdir(parents=True)
    written = standing(assemblies=("0002", "0003"))
    records.write(written)
    assert records.read("prod") == written
    assert sorted(path.name for path in records.assemblies("prod").iterdir()) == ["0002", "0003"]
    records.forget("prod")
    assert records.read("prod") is None
    assert not records.assemblies("prod").exists()


def test_where_nobody_can_answer_a_yes_must_have_been_given() -> None:
    with pytest.raises(PlatformError, match="nobody to ask"):
        asking.ask(Terminal(), yes=False)("Deploy?")
    assert asking.ask(Terminal(), yes=True)("Deploy?")


def test_a_plan_counts_what_happens_and_says_what_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    old = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "a"}},
                         "Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 1}}}}  # fmt: skip
    new = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "b"}},
                         "R": {"Type": "AWS::SNS::Topic", "Properties": {}}}}  # fmt: skip
    changes = Toolkit().compare([{"stack": "Tenantry-dev-Storage", "old": old, "new": new}])
    found = plan.read("dev", changes, zips=(), bill=BILL, bootstrap=("us-east-1",))
    assert found.counts == {"add": 1, "replace": 1, "destroy": 1}
    plan.show(Terminal(), found)
    said = capsys.readouterr().out
    assert "replace     DynamoDB::Table  T" in said
    assert "TableName" in said
    assert "1 to add, 1 to replace, 1 to destroy" in said
    assert "about $3.50" in said
    assert "a fee: unknown" in said
    assert found.to_dict()["counts"]["destroy"] == 1
    assert plan.read("dev", [], zips=(), bill=BILL).empty


def test_the_bill_comes_from_infra() -> None:
    bill = Toolkit().costs("dev", 1_000_000)
    assert bill["total"] > 1
    assert bill["unknown"] == []
    assert {item["of"] for item in bill["items"]} >= {"2026-11", "2026-09"}


def test_progress_is_read_from_the_cdks_own_lines() -> None:
    line = ("Tenantry-dev-Storage |  4/15 | 10:08:45 AM | CREATE_FAILED        | AWS::S3::Bucket            "
            "| Store (Store1D2A845B) it exists already")  # fmt: skip
    found = EVENT.match(line)
    assert found
    assert (found["stack"], found["done"], found["total"], found["status"], found["type"]) == (
        "Tenantry-dev-Storage", "4", "15", "CREATE_FAILED", "AWS::S3::Bucket")  # fmt: skip
    assert found["rest"].endswith("it exists already")


def test_infras_own_refusals_arrive_with_code_and_cure(tmp_path: Path) -> None:
    with pytest.raises(PlatformError) as refused:
        found_zips(tmp_path, "lambda")
    assert refused.value.code == "deploy.no-zips"
    with pytest.raises(PlatformError) as unknown:
        Toolkit().synthesise({"stage": "nowhere", "account": "1", "region": "us-east-1"}, tmp_path, tmp_path / "out")
    assert unknown.value.code == "deploy.synthesis"


def test_destroying_data_without_a_second_yes_touches_nothing(
    aws: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["destroy", "--stage", "dev", "--yes", "--data"]) == 1
    assert "deploy.unconfirmed" in capsys.readouterr().err


def test_doctor_answers_for_aws_as_json(
    aws: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run(["doctor", "--aws", "--stage", "dev", "--json"])
    answer = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert answer["credentials"]["state"] == "ok"
    assert answer["domain"]["state"] == "warn"
