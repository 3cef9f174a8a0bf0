"""Who may do what, asked of the synthesised policies: a table of action by resource, allowed and denied."""

from __future__ import annotations

from typing import Any

import pytest
from simulators import iam

BUCKET = "tenantry-prod-store-123456789012-us-east-1"
AT = "us-east-1:123456789012"
OBJECTS = f"arn:aws:s3:::{BUCKET}"
GATEWAY, CONTROL, PUBLISHER = "GatewayRole", "ControlRole", "PublisherRole"
PUBLIC, CLOSED = "SandboxPublicRole", "SandboxClosedRole"
EVERYBODY = (GATEWAY, CONTROL, PUBLISHER, PUBLIC, CLOSED)


def function(name: str, alias: str = "") -> str:
    return f"arn:aws:lambda:{AT}:function:tenantry-prod-{name}{alias}"


# action, resource, the roles that may. Every other role of the five may not.
TABLE: list[tuple[str, str, tuple[str, ...]]] = [
    ("s3:GetObject", f"{OBJECTS}/plugins/acme/zoo.json", (GATEWAY, CONTROL, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/releases/acme/zoo/9f.json", (GATEWAY, CONTROL, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/widgets/acme/zoo/9f.json", (GATEWAY, CONTROL, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/site/acme/zoo/9f/a.js", (GATEWAY, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/bundles/acme/zoo/9f.zip", (GATEWAY, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/secrets/acme/zoo/KEY", (GATEWAY,)),
    ("s3:GetObject", f"{OBJECTS}/tokens/acme/9f.json", (CONTROL,)),
    ("s3:GetObject", f"{OBJECTS}/tenants/acme.json", (GATEWAY, CONTROL)),
    ("s3:GetObject", f"{OBJECTS}/state/acme/zoo/_shared.json", (GATEWAY,)),
    ("s3:GetObject", f"{OBJECTS}/pending/acme/zoo/1.json", (GATEWAY,)),
    ("s3:GetObject", f"{OBJECTS}/files/acme/zoo/1/a.csv", (GATEWAY, CONTROL)),
    ("s3:GetObject", f"{OBJECTS}/uploads/acme/zoo/9f.zip", (PUBLISHER,)),
    ("s3:GetObject", f"{OBJECTS}/publishes/acme/zoo/1.json", (CONTROL, PUBLISHER)),
    ("s3:GetObject", f"{OBJECTS}/audit/acme/2026/11/30/1.json", (CONTROL,)),
    ("s3:GetObject", f"{OBJECTS}/keys/links.json", (GATEWAY, CONTROL)),
    ("s3:GetObject", "arn:aws:s3:::another-bucket/plugins/acme/zoo.json", ()),
    ("s3:PutObject", f"{OBJECTS}/plugins/acme/zoo.json", (CONTROL, PUBLISHER)),
    ("s3:PutObject", f"{OBJECTS}/releases/acme/zoo/9f.json", (PUBLISHER,)),
    ("s3:PutObject", f"{OBJECTS}/widgets/acme/zoo/9f.json", (PUBLISHER,)),
    ("s3:PutObject", f"{OBJECTS}/site/acme/zoo/9f/a.js", (PUBLISHER,)),
    ("s3:PutObject", f"{OBJECTS}/bundles/acme/zoo/9f.zip", (PUBLISHER,)),
    ("s3:PutObject", f"{OBJECTS}/uploads/acme/zoo/9f.zip", (CONTROL,)),
    ("s3:PutObject", f"{OBJECTS}/publishes/acme/zoo/1.json", (CONTROL, PUBLISHER)),
    ("s3:PutObject", f"{OBJECTS}/secrets/acme/zoo/KEY", (CONTROL,)),
    ("s3:PutObject", f"{OBJECTS}/tokens/acme/9f.json", (CONTROL,)),
    ("s3:PutObject", f"{OBJECTS}/tenants/acme.json", (CONTROL,)),
    ("s3:PutObject", f"{OBJECTS}/keys/links.json", (CONTROL,)),
    ("s3:PutObject", f"{OBJECTS}/audit/acme/2026/11/30/1.json", (CONTROL, PUBLISHER)),
    ("s3:PutObject", f"{OBJECTS}/state/acme/zoo/u.json", (GATEWAY,)),
    ("s3:PutObject", f"{OBJECTS}/pending/acme/zoo/1.json", (GATEWAY,)),
    ("s3:PutObject", f"{OBJECTS}/files/acme/zoo/1/a.csv", (GATEWAY,)),
    ("s3:DeleteObject", f"{OBJECTS}/pending/acme/zoo/1.json", (GATEWAY, CONTROL)),
    ("s3:DeleteObject", f"{OBJECTS}/files/acme/zoo/1/a.csv", (GATEWAY, CONTROL)),
    ("s3:DeleteObject", f"{OBJECTS}/uploads/acme/zoo/9f.zip", (CONTROL, PUBLISHER)),
    ("s3:DeleteObject", f"{OBJECTS}/plugins/acme/zoo.json", (CONTROL,)),
    ("s3:DeleteObject", f"{OBJECTS}/site/acme/zoo/9f/a.js", (CONTROL,)),
    ("s3:DeleteObject", f"{OBJECTS}/keys/links.json", ()),
    ("s3:DeleteObjectVersion", f"{OBJECTS}/state/acme/zoo/u.json", (CONTROL,)),
    ("s3:PutBucketPolicy", OBJECTS, ()),
    ("s3:DeleteBucket", OBJECTS, ()),
    ("s3:PutLifecycleConfiguration", OBJECTS, ()),
    ("dynamodb:UpdateItem", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-limits", (GATEWAY,)),
    ("dynamodb:UpdateItem", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-usage", (GATEWAY,)),
    ("dynamodb:Query", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-usage", (CONTROL,)),
    ("dynamodb:DeleteItem", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-usage", (CONTROL,)),
    ("dynamodb:DeleteItem", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-limits", ()),
    ("dynamodb:Scan", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-usage", ()),
    ("dynamodb:DeleteTable", f"arn:aws:dynamodb:{AT}:table/tenantry-prod-usage", ()),
    ("dynamodb:UpdateItem", f"arn:aws:dynamodb:{AT}:table/tenantry-dev-limits", ()),
    ("lambda:InvokeFunction", function("sandbox-public"), (GATEWAY, PUBLISHER)),
    ("lambda:InvokeFunction", function("sandbox-closed"), (GATEWAY, PUBLISHER)),
    ("lambda:InvokeFunction", function("publisher"), (CONTROL,)),
    ("lambda:InvokeFunction", function("gateway", ":live"), ()),
    ("lambda:InvokeFunction", function("control", ":live"), ()),
    ("lambda:InvokeFunction", f"arn:aws:lambda:{AT}:function:somebody-elses", ()),
    ("lambda:UpdateFunctionCode", function("sandbox-public"), ()),
    ("lambda:GetFunctionConfiguration", function("gateway"), ()),
    ("logs:FilterLogEvents", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-gateway:*", (CONTROL,)),
    ("logs:FilterLogEvents", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-gateway", (CONTROL,)),
    ("logs:FilterLogEvents", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-control", ()),
    ("logs:PutLogEvents", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-gateway:log-stream:a", (GATEWAY,)),
    ("logs:PutLogEvents", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-sandbox-public:log-stream:a", ()),
    ("logs:CreateLogGroup", f"arn:aws:logs:{AT}:log-group:/aws/lambda/tenantry-prod-sandbox-public:*", ()),
    ("secretsmanager:GetSecretValue", f"arn:aws:secretsmanager:{AT}:secret:tenantry-prod-seal-AbCdEf", ()),
    ("iam:PassRole", "arn:aws:iam::123456789012:role/anything", ()),
    ("sts:AssumeRole", "arn:aws:iam::123456789012:role/anything", ()),
    ("ec2:RunInstances", "*", ()),
    ("ssm:GetParameter", f"arn:aws:ssm:{AT}:parameter/anything", ()),
]


@pytest.fixture(scope="module")
def templates(prod: Any) -> Any:
    return iam.Templates(prod.templates, account="123456789012", region="us-east-1")


@pytest.fixture(scope="module")
def policies(templates: Any) -> dict[str, list[dict[str, Any]]]:
    return {role: templates.role_policy("Functions", role)[1] for role in EVERYBODY}


@pytest.mark.parametrize(("action", "resource", "may"), TABLE, ids=[f"{a} {r.split(':')[-1]}" for a, r, _ in TABLE])
def test_each_role_may_do_what_its_row_says_and_nothing_else(
    policies: dict[str, list[dict[str, Any]]], action: str, resource: str, may: tuple[str, ...]
) -> None:
    allowed = tuple(role for role in EVERYBODY if iam.decide(policies[role], action, resource) == "Allow")
    assert set(allowed) == set(may)


def test_the_open_sandbox_has_no_statement_at_all(policies: dict[str, list[dict[str, Any]]]) -> None:
    assert policies[PUBLIC] == []


@pytest.mark.parametrize("action", ["ec2:CreateNetworkInterface", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface"])
def test_lambda_may_make_the_closed_sandboxs_interfaces_and_code_in_it_may_not(
    policies: dict[str, list[dict[str, Any]]], action: str
) -> None:
    inside = {"lambda:SourceFunctionArn": function("sandbox-closed")}
    assert iam.decide(policies[CLOSED], action, "*") == "Allow"
    assert iam.decide(policies[CLOSED], action, "*", inside) == "Deny"


@pytest.mark.parametrize(
    ("role", "key", "action", "allowed"),
    [
        (GATEWAY, "SecretsKey", "kms:Decrypt", True),
        (GATEWAY, "SecretsKey", "kms:GenerateDataKey", False),
        (CONTROL, "SecretsKey", "kms:GenerateDataKey", True),
        (CONTROL, "SecretsKey", "kms:Decrypt", False),
        (PUBLISHER, "SecretsKey", "kms:Decrypt", False),
        (PUBLISHER, "SecretsKey", "kms:GenerateDataKey", False),
        (GATEWAY, "DataKey", "kms:Decrypt", True),
        (CONTROL, "DataKey", "kms:GenerateDataKey", True),
        (PUBLISHER, "DataKey", "kms:Decrypt", True),
        (PUBLIC, "DataKey", "kms:Decrypt", False),
        (CLOSED, "DataKey", "kms:Decrypt", False),
        (GATEWAY, "DataKey", "kms:ScheduleKeyDeletion", False),
    ],
)
def test_keys_are_used_as_the_data_under_them_may_be(
    templates: Any, policies: dict[str, list[dict[str, Any]]], role: str, key: str, action: str, allowed: bool
) -> None:
    answer = iam.decide(policies[role], action, templates.key_arn("Storage", key))
    assert (answer == "Allow") is allowed


@pytest.mark.parametrize(
    ("role", "prefix", "allowed"),
    [
        (GATEWAY, "files/acme/", True),
        (GATEWAY, "secrets/acme/zoo/", False),
        (GATEWAY, "", False),
        (CONTROL, "secrets/acme/zoo/", True),
        (CONTROL, "tenants/", True),
        (CONTROL, "keys/", False),
        (PUBLISHER, "site/acme/zoo/", True),
        (PUBLISHER, "tokens/acme/", False),
        (PUBLIC, "site/acme/zoo/", False),
    ],
)
def test_keys_are_listed_below_the_prefixes_that_a_role_needs(
    policies: dict[str, list[dict[str, Any]]], role: str, prefix: str, allowed: bool
) -> None:
    answer = iam.decide(policies[role], "s3:ListBucket", OBJECTS, {"s3:prefix": prefix})
    assert (answer == "Allow") is allowed


@pytest.mark.parametrize(
    ("key", "source", "answer"),
    [
        ("site/acme/zoo/9f/a.js", "arn:aws:cloudfront::123456789012:distribution/E1", "Allow"),
        ("site/acme/zoo/9f/a.js", "arn:aws:cloudfront::999999999999:distribution/E1", "none"),
        ("secrets/acme/zoo/KEY", "arn:aws:cloudfront::123456789012:distribution/E1", "none"),
        ("files/acme/zoo/1/a.csv", "arn:aws:cloudfront::123456789012:distribution/E1", "none"),
        ("bundles/acme/zoo/9f.zip", "arn:aws:cloudfront::123456789012:distribution/E1", "none"),
    ],
)
def test_cloudfront_reads_published_trees_for_our_distributions_only(
    templates: Any, key: str, source: str, answer: str
) -> None:
    statements = templates.bucket_policy("Storage", BUCKET)
    context = {"aws:SourceArn": source, "aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
    principal = {"Service": "cloudfront.amazonaws.com"}
    assert iam.decide(statements, "s3:GetObject", f"{OBJECTS}/{key}", context, principal=principal) == answer


def test_the_bucket_refuses_plain_http_and_old_tls_to_everybody(templates: Any) -> None:
    statements = templates.bucket_policy("Storage", BUCKET)
    caller = {"AWS": "arn:aws:iam::123456789012:role/GatewayRole"}
    for context in ({"aws:SecureTransport": "false"}, {"aws:SecureTransport": "true", "s3:TlsVersion": "1.1"}):
        answer = iam.decide(statements, "s3:GetObject", f"{OBJECTS}/plugins/a.json", context, principal=caller)
        assert answer == "Deny"


def test_a_secret_can_only_be_written_under_the_secrets_key(templates: Any) -> None:
    statements = templates.bucket_policy("Storage", BUCKET)
    caller = {"AWS": "arn:aws:iam::123456789012:role/ControlRole"}
    safe = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
    header = "s3:x-amz-server-side-encryption-aws-kms-key-id"

    def put(key: str, context: dict[str, str]) -> str:
        return str(iam.decide(statements, "s3:PutObject", f"{OBJECTS}/{key}", {**safe, **context}, principal=caller))

    assert put("secrets/acme/zoo/KEY", {header: templates.key_arn("Storage", "SecretsKey")}) == "none"
    assert put("secrets/acme/zoo/KEY", {header: templates.key_arn("Storage", "DataKey")}) == "Deny"
    assert put("secrets/acme/zoo/KEY", {}) == "Deny"
    assert put("files/acme/zoo/1/a.csv", {}) == "none"


def test_the_closed_networks_door_to_s3_leads_to_our_bucket_only(prod: Any, templates: Any) -> None:
    (endpoint,) = prod.resources("Functions", "AWS::EC2::VPCEndpoint").values()
    statements = templates.resolve(prod.templates["Functions"], endpoint["Properties"]["PolicyDocument"]["Statement"])
    anybody = {"AWS": "arn:aws:iam::123456789012:role/GatewayRole"}

    def may(action: str, resource: str) -> bool:
        return bool(iam.decide(statements, action, resource, principal=anybody) == "Allow")

    assert may("s3:GetObject", f"{OBJECTS}/bundles/acme/zoo/9f.zip")
    assert may("s3:GetObject", f"{OBJECTS}/files/acme/zoo/1/a.csv")
    assert may("s3:PutObject", f"{OBJECTS}/pending/acme/zoo/uploads/1")
    assert not may("s3:PutObject", "arn:aws:s3:::attackers-bucket/loot")
    assert not may("s3:GetObject", f"{OBJECTS}/secrets/acme/zoo/KEY")
    assert not may("s3:ListBucket", OBJECTS)


def test_the_closed_network_has_no_way_out(prod: Any) -> None:
    kinds = {found["Type"] for found in prod.templates["Functions"]["Resources"].values()}
    ways_out = ("InternetGateway", "NatGateway", "Route", "VPCPeeringConnection", "EgressOnlyInternetGateway",
                "TransitGatewayAttachment", "VPNGateway")  # fmt: skip
    assert not kinds & {f"AWS::EC2::{way}" for way in ways_out}
    (group,) = prod.resources("Functions", "AWS::EC2::SecurityGroup").values()
    assert "SecurityGroupIngress" not in group["Properties"]
    (rules,) = prod.resources("Functions", "AWS::Route53Resolver::FirewallRuleGroup").values()
    assert [r["Action"] for r in rules["Properties"]["FirewallRules"]] == ["ALLOW", "BLOCK"]


def test_the_evaluator_itself_lets_a_deny_win_and_a_missing_key_fail() -> None:
    allow = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    deny = {"Effect": "Deny", "Action": "s3:Put*", "Resource": "a", "Condition": {"StringEquals": {"k": "v"}}}
    assert iam.decide([allow], "s3:PutObject", "a") == "Allow"
    assert iam.decide([allow, deny], "s3:PutObject", "a", {"k": "v"}) == "Deny"
    assert iam.decide([allow, deny], "s3:PutObject", "a") == "Allow"
    assert iam.decide([{"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}], "s3:GetObject", "a") == "none"
    assert not iam.matches("a/*", "b/a/c")
    assert iam.matches("a?c*", "abc/d")
