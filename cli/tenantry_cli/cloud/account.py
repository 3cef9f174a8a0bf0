"""What the AWS account says. One class around boto3 sessions; vendor exceptions end here.

Everything is read, nothing changed, but for the three verbs of `platform destroy` at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tenantry_registry.errors import PlatformError

EDGE_REGION = "us-east-1"  # where CloudFront's stack stands
SIGN_IN = "Sign in, for example with `aws sso login`, or set AWS_PROFILE."
UNKNOWN = ("InvalidClientTokenId", "SignatureDoesNotMatch", "InvalidAccessKeyId", "UnrecognizedClientException")
BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"  # the CDK's default qualifier


@dataclass(frozen=True, slots=True)
class Zone:
    """A hosted zone of the account that a domain lies in."""

    id: str
    name: str


class Account:
    """The account behind the default credentials, in `region`."""

    def __init__(self, region: str) -> None:
        self.region = region

    def identity(self) -> tuple[str, str]:
        """Account number and the caller's ARN. Raises: as `answering`."""
        with answering():
            found = self._client("sts").get_caller_identity()
        return found["Account"], found["Arn"]

    def regions(self) -> list[str]:
        """The regions that boto3 knows, in whose partition this one would be."""
        import boto3

        return sorted(boto3.Session().get_available_regions("lambda"))

    def bootstrap(self, region: str) -> int:
        """The version of the CDK's bootstrap stack there; 0 where there is none."""
        found = self._or_none("ssm", region, "get_parameter", Name=BOOTSTRAP)
        return int(found["Parameter"]["Value"]) if found else 0

    def outputs(self, stack: str, region: str) -> dict[str, str]:
        """The stack's outputs; {} where it does not stand."""
        found = self._or_none("cloudformation", region, "describe_stacks", StackName=stack)
        if not found:
            return {}
        return {o["OutputKey"]: o["OutputValue"] for o in found["Stacks"][0].get("Outputs", ())}

    def status(self, stack: str, region: str) -> str:
        """CloudFormation's word for the stack's state; "" where it does not stand."""
        found = self._or_none("cloudformation", region, "describe_stacks", StackName=stack)
        return str(found["Stacks"][0]["StackStatus"]) if found else ""

    def template(self, stack: str, region: str) -> dict[str, Any]:
        """The template that stands; {} where none does."""
        found = self._or_none("cloudformation", region, "get_template", StackName=stack)
        body = found["TemplateBody"] if found else {}
        return dict(json.loads(body) if isinstance(body, str) else body)

    def failures(self, stack: str, region: str) -> list[str]:
        """What went wrong the last time, newest first: `LogicalId: reason`."""
        found = self._or_none("cloudformation", region, "describe_stack_events", StackName=stack)
        events = found["StackEvents"] if found else []
        return [f"{e['LogicalResourceId']}: {e.get('ResourceStatusReason', '')}"
                for e in events if e["ResourceStatus"].endswith("_FAILED")]  # fmt: skip

    def zone(self, domain: str) -> Zone | None:
        """The public hosted zone that `domain` lies in, the closest one; None where the account has none."""
        with answering():
            pages = self._client("route53").get_paginator("list_hosted_zones").paginate()
            zones = [z for page in pages for z in page["HostedZones"] if not z["Config"].get("PrivateZone")]
        names = {z["Name"].rstrip("."): z["Id"].rpartition("/")[2] for z in zones}
        parts = domain.split(".")
        for start in range(len(parts)):
            name = ".".join(parts[start:])
            if name in names:
                return Zone(names[name], name)
        return None

    def concurrency(self) -> int:
        """The account's quota of concurrent Lambda executions in the region."""
        with answering():
            return int(self._client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"])

    def isolates(self, function: str) -> bool | None:
        """Whether a function that stands isolates tenants; None where it does not stand."""
        found = self._or_none("lambda", self.region, "get_function_configuration", FunctionName=function)
        if not found:
            return None
        return bool(found.get("TenancyConfig", {}).get("TenantIsolationMode") == "PER_TENANT")

    def unprotect(self, stack: str) -> None:
        """Take the protection against deletion off a stack."""
        with answering():
            self._client("cloudformation").update_termination_protection(
                StackName=stack, EnableTerminationProtection=False
            )

    def empty(self, bucket: str) -> Iterator[int]:
        """Remove every version of every object of a bucket, then the bucket; yields how many are gone."""
        client, gone = self._client("s3"), 0
        with answering():
            for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket):
                entries = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
                if entries:
                    keys = [{"Key": e["Key"], "VersionId": e["VersionId"]} for e in entries]
                    client.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
                    gone += len(keys)
                    yield gone
            client.delete_bucket(Bucket=bucket)

    def forget(self, kind: str, name: str) -> None:
        """Remove one retained resource: a DynamoDB table, a KMS key (in seven days) or a secret."""
        with answering():
            if kind == "AWS::DynamoDB::Table":
                self._client("dynamodb").delete_table(TableName=name)
            elif kind == "AWS::KMS::Key":
                self._client("kms").schedule_key_deletion(KeyId=name, PendingWindowInDays=7)
            elif kind == "AWS::SecretsManager::Secret":
                self._client("secretsmanager").delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True)

    def resources(self, stack: str) -> list[tuple[str, str]]:
        """(type, physical id) of what a stack holds."""
        with answering():
            pages = self._client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
            found = [r for page in pages for r in page["StackResourceSummaries"]]
        return [(r["ResourceType"], r.get("PhysicalResourceId", "")) for r in found]

    def _client(self, service: str, region: str = "") -> Any:
        import boto3

        return boto3.client(service, region_name=region or self.region)  # type: ignore[call-overload]

    def _or_none(self, service: str, region: str, verb: str, **arguments: Any) -> Any:
        """The answer, or None where AWS says that there is no such thing."""
        from botocore.exceptions import ClientError

        with answering():
            try:
                return getattr(self._client(service, region), verb)(**arguments)
            except ClientError as error:
                told = error.response["Error"]
                missing = told["Code"].endswith(("NotFound", "NotFoundException"))
                if missing or "does not exist" in told.get("Message", ""):
                    return None
                raise


def emulated(environment: Mapping[str, str] = os.environ) -> str:
    """The address of the emulator that stands in for AWS, as boto3 is told it; "" where AWS is meant."""
    return environment.get("AWS_ENDPOINT_URL", "")


def signed_in() -> bool:
    """Whether somebody's AWS credentials are here: in the environment, a profile, a session. The network is not asked,
    so the role of the machine itself is not found. Raises: as `answering`, for those that are named but are not there.
    """
    from botocore.session import Session

    with answering():
        chain = Session().get_component("credential_provider")
        chain.remove("iam-role")  # asks an address that answers on EC2 alone, and takes seconds elsewhere
        return chain.load_credentials() is not None


@contextmanager
def answering() -> Iterator[None]:
    """Turns boto3's exceptions into ours.

    Raises: PlatformError `aws.credentials`, `aws.refused`, `aws.region`, `aws.unreachable`.
    """
    from botocore import exceptions as aws

    try:
        yield
    except (aws.NoCredentialsError, aws.PartialCredentialsError) as error:
        raise PlatformError("aws.credentials", "There are no AWS credentials here.", SIGN_IN) from error
    except aws.ProfileNotFound as error:
        hint = "Set AWS_PROFILE to one that `aws configure list-profiles` shows."
        raise PlatformError("aws.credentials", f"There is no AWS profile {_profile()!r} here.", hint) from error
    except (aws.SSOError, aws.TokenRetrievalError, aws.CredentialRetrievalError) as error:
        raise _ended() from error
    except (aws.InvalidRegionError, aws.NoRegionError) as error:
        raise PlatformError("aws.region", str(error).rstrip(".") + ".", "Set --region, like us-east-1.") from error
    except aws.ClientError as error:
        told = error.response["Error"]
        if "Expired" in told["Code"]:
            raise _ended() from error
        if told["Code"] in UNKNOWN:
            text = f"AWS does not know the credentials that are here ({told['Code']})."
            raise PlatformError("aws.credentials", text, SIGN_IN) from error
        text = f"AWS answers {told['Code']}: {told.get('Message', '').rstrip('.')}."
        raise PlatformError("aws.refused", text, "Ask for the right, or sign in as somebody who has it.") from error
    except aws.BotoCoreError as error:
        place = f" at {emulated()}" if emulated() else ""
        hint = "Is the emulator running that AWS_ENDPOINT_URL names?" if place else "Look at the network, HTTPS_PROXY."
        raise PlatformError("aws.unreachable", f"AWS did not answer{place} ({type(error).__name__}).", hint) from error


def _ended() -> PlatformError:
    profile = f" --profile {_profile()}" if _profile() else ""
    hint = f"Sign in again, for example with `aws sso login{profile}`, then run this once more."
    return PlatformError("aws.credentials", "The AWS session here has ended.", hint)


def _profile() -> str:
    return os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE", "")
