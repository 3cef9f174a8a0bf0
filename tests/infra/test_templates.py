"""What the templates must say, and a readable snapshot of each stack."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenantry_infra import builder, environments, functions
from tenantry_infra.stages import STAGES

SNAPSHOTS = Path(__file__).parent / "snapshots"
CDK_HASH = re.compile(r"(?<=[a-zA-Z0-9])(?:[0-9A-F]{8})(?=$|[^0-9A-Fa-f])")
LONG_HASH = re.compile(r"[0-9a-f]{64}|(?<=CurrentVersion)[0-9A-Za-z]{32,}")


def functions_of(synth: Any) -> dict[str, dict[str, Any]]:
    return {f["Properties"]["FunctionName"].removeprefix(synth.place.name("")): f["Properties"]
            for f in synth.resources("Functions", "AWS::Lambda::Function").values()
            if "FunctionName" in f["Properties"]}  # fmt: skip


def readable(template: dict[str, Any]) -> str:
    """A template as YAML: what it makes, without hashes that change with every build, environments that other
    rooms own, and the edge's functions, which are files."""
    kept = {}
    for name, found in sorted(template["Resources"].items()):
        found = {key: value for key, value in found.items() if key not in ("Metadata", "UpdateReplacePolicy")}
        if found["Type"] == "AWS::Lambda::Function":
            found["Properties"] = {k: v for k, v in found["Properties"].items() if k != "Environment"}
        if found["Type"] == "AWS::CloudFront::Function":
            found["Properties"] = {k: v for k, v in found["Properties"].items() if k != "FunctionCode"}
        kept[name] = found
    text = yaml.safe_dump({"Resources": kept, "Outputs": template.get("Outputs", {})}, width=110, sort_keys=True)
    return CDK_HASH.sub("", LONG_HASH.sub("HASH", text))


@pytest.mark.parametrize("stack", ["Storage", "Functions", "Edge", "Watch"])
def test_each_stack_is_what_its_snapshot_says(prod: Any, stack: str) -> None:
    path = SNAPSHOTS / f"{stack.lower()}.yaml"
    text = readable(prod.templates[stack])
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; WRITE_SNAPSHOTS=1 writes it anew: read the difference first"


def test_every_function_is_arm_and_python_as_the_builder_compiles_for(prod: Any) -> None:
    assert functions.RUNTIME.name == "python" + builder.LAMBDA_PYTHON
    for found in functions_of(prod).values():
        assert found["Architectures"] == ["arm64"]
        assert found["Runtime"] == "python" + builder.LAMBDA_PYTHON


def test_the_sandboxes_isolate_tenants_and_nothing_that_this_excludes_is_switched_on(prod: Any) -> None:
    found = functions_of(prod)
    for name in ("sandbox-public", "sandbox-closed"):
        assert found[name]["TenancyConfig"] == {"TenantIsolationMode": "PER_TENANT"}
        assert "SnapStart" not in found[name]
        assert "Environment" not in found[name]
    assert not prod.resources("Functions", "AWS::Lambda::Url")
    assert "VpcConfig" in found["sandbox-closed"]
    assert "VpcConfig" not in found["sandbox-public"]


def test_gateway_and_control_start_from_a_snapshot_behind_an_alias(prod: Any) -> None:
    found = functions_of(prod)
    for name in ("gateway", "control"):
        assert found[name]["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert {a["Properties"]["Name"] for a in prod.resources("Functions", "AWS::Lambda::Alias").values()} == {"live"}
    uris = [json.dumps(i["Properties"]["IntegrationUri"])
            for i in prod.resources("Functions", "AWS::ApiGatewayV2::Integration").values()]  # fmt: skip
    assert all(":live/invocations" in uri for uri in uris)


def test_reserved_concurrency_leaves_what_an_account_must_keep_free() -> None:
    for stage in STAGES.values():
        assert sum(stage.reserved.values()) <= 900


def test_a_challenge_is_put_back_where_clients_look_for_it_on_401_and_403(prod: Any) -> None:
    mapped = [i["Properties"].get("ResponseParameters")
              for i in prod.resources("Functions", "AWS::ApiGatewayV2::Integration").values()]  # fmt: skip
    (found,) = [m for m in mapped if m]
    assert set(found) == {"401", "403"}
    for answer in found.values():
        assert answer["ResponseParameters"] == [
            {"Source": "$response.header.x-mcp-challenge", "Destination": "overwrite:header.www-authenticate"}
        ]


def test_data_outlives_its_stack(prod: Any) -> None:
    kept = ("AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::KMS::Key", "AWS::SecretsManager::Secret")
    for found in prod.templates["Storage"]["Resources"].values():
        if found["Type"] in kept:
            assert (found["DeletionPolicy"], found["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


def test_the_store_is_versioned_encrypted_and_closed_to_the_public(prod: Any) -> None:
    (store,) = [b["Properties"] for b in prod.resources("Storage", "AWS::S3::Bucket").values()
                if b["Properties"]["BucketName"] == prod.place.bucket]  # fmt: skip
    assert store["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(store["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = store["CorsConfiguration"]["CorsRules"]
    assert (rule["AllowedMethods"], rule["AllowedOrigins"]) == (["GET", "HEAD"], ["*"])
    expiring = {r.get("Prefix") for r in store["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in r}
    assert expiring == {"files/", "pending/", "uploads/"}


def test_nothing_that_must_stay_forever_expires(prod: Any) -> None:
    (store,) = [b["Properties"] for b in prod.resources("Storage", "AWS::S3::Bucket").values()
                if b["Properties"]["BucketName"] == prod.place.bucket]  # fmt: skip
    for rule in store["LifecycleConfiguration"]["Rules"]:
        if "ExpirationInDays" in rule:
            assert rule["Prefix"] in ("files/", "pending/", "uploads/")


def test_cloudfront_asks_the_gateway_with_a_secret_and_never_rewrites_its_errors(prod: Any) -> None:
    (found,) = prod.resources("Edge", "AWS::CloudFront::Distribution").values()
    config = found["Properties"]["DistributionConfig"]
    assert "CustomErrorResponses" not in config
    (api,) = [o for o in config["Origins"] if "CustomOriginConfig" in o]
    (header,) = api["OriginCustomHeaders"]
    assert header["HeaderName"] == "x-tenantry-origin"
    assert "resolve:secretsmanager:tenantry-prod-origin" in json.dumps(header["HeaderValue"])
    assert config["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    assert [b["PathPattern"] for b in config["CacheBehaviors"]] == ["/assets/*", "/v/*/assets/*", "/t/*/assets/*"]


def test_no_secret_stands_in_a_template(prod: Any) -> None:
    for template in prod.templates.values():
        text = json.dumps(template)
        assert "SecretString" not in re.sub(r"\{\{resolve:secretsmanager:[^}]*\}\}", "", text).replace(
            "GenerateSecretString", ""
        ).replace("SecretStringTemplate", "")


def test_a_stage_elsewhere_names_the_api_to_the_edge_across_regions(dev: Any) -> None:
    (found,) = dev.resources("Edge", "AWS::CloudFront::Distribution").values()
    (api,) = [o for o in found["Properties"]["DistributionConfig"]["Origins"] if "CustomOriginConfig" in o]
    assert "execute-api.eu-central-1.amazonaws.com" in json.dumps(api["DomainName"])
    replicas = [
        s["Properties"].get("ReplicaRegions") for s in dev.resources("Storage", "AWS::SecretsManager::Secret").values()
    ]
    assert [{"Region": "us-east-1"}] in replicas


def test_without_a_domain_there_is_no_certificate_and_no_dns(dev: Any) -> None:
    kinds = {found["Type"] for found in dev.templates["Edge"]["Resources"].values()}
    assert not kinds & {"AWS::CertificateManager::Certificate", "AWS::Route53::RecordSet"}
    variables = functions_of(dev)["gateway"]["Environment"]["Variables"]
    assert variables["TENANTRY_ORIGIN"] == "https://d111111abcdef8.cloudfront.net"
    assert variables["TENANTRY_BASE"] == ""


def test_every_setting_of_a_room_is_offered_or_known_to_be_right_as_it_is(prod: Any) -> None:
    values = environments.offered(prod.place, api_host="api", secrets_key="key")
    for room in environments.SETTINGS:
        found = environments.settings_class(room)
        if found is not None:
            forgotten = set(found.model_fields) - set(values) - environments.LEFT
            assert not forgotten, f"{room}: offer {forgotten} in environments.py, or name them in LEFT"


def test_each_settings_class_reads_back_the_environment_that_was_written_for_it(
    prod: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = environments.offered(prod.place, api_host="abc.execute-api.us-east-1.amazonaws.com", secrets_key="key")
    for room in environments.SETTINGS:
        found = environments.settings_class(room)
        if found is None:
            continue
        variables = environments.environment(room, values)
        assert environments.fits(variables)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        read = found()
        for name in set(found.model_fields) & set(values):
            given = getattr(read, name)
            assert given == values[name] or list(given) == json.loads(values[name])


def test_cfn_lint_finds_nothing(prod: Any, dev: Any, local: Any) -> None:
    # W3005: the CDK names a role in DependsOn beside the GetAtt that already says so. Nothing is wrong with both.
    templates = [str(path) for synth in (prod, dev, local) for path in sorted(synth.out.glob("*.template.json"))]
    assert len(templates) == 12
    lint = Path(sys.executable).with_name("cfn-lint")
    done = subprocess.run([str(lint), "--ignore-checks", "W3005", "--", *templates], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_cdk_nag_judged_every_stack_and_left_no_finding(prod: Any, dev: Any, local: Any) -> None:
    for synth in (prod, dev, local):
        report = json.loads((synth.out / "validation-report.json").read_text())
        names = {plugin["pluginName"] if "pluginName" in plugin else plugin["summary"]["pluginName"]
                 for plugin in report["pluginReports"]}  # fmt: skip
        assert len(names) == 2
        assert [p for p in report["pluginReports"] if p.get("violations")] == []
