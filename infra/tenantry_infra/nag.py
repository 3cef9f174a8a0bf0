"""Every finding of cdk-nag that stands, with its reason. What is not here fails the synthesis.

Two packs run: AwsSolutions and Serverless. A wildcard is acknowledged resource by resource, for the one role it is in,
so that a new one is a finding again.
"""

from __future__ import annotations

from collections.abc import Iterable

import aws_cdk as cdk
from constructs import IConstruct

from tenantry_infra import roles
from tenantry_infra.place import Place

BY_PREFIX = (
    "One function serves every tenant, so its rights end at a key prefix and not at a tenant's folder. The code keeps "
    "tenants apart there, and tenants' own code runs under a role without any of it."
)
BY_QUALIFIER = "The alias, the versions and the function are one thing; the wildcard stands after the function's name."
OWN_STREAMS = "Lambda names the streams of the function's own log group."
EMULATOR = {
    "AwsSolutions::AwsSolutions-VPC7": "This stage is for an emulator that has no flow logs.",
    "AwsSolutions::AwsSolutions-S10": "This stage is for an emulator on this machine that speaks plain http.",
    "AwsSolutions::AwsSolutions-SQS4": "This stage is for an emulator on this machine that speaks plain http.",
    "AwsSolutions::AwsSolutions-SNS3": "This stage is for an emulator on this machine that speaks plain http.",
}
INTERFACES = "EC2 has no resource-level rights for these; function code is denied them by lambda:SourceFunctionArn."

STACK_WIDE = {
    "Storage": {
        "AwsSolutions::AwsSolutions-SMG4": (
            "CloudFront's header and the keys of links that are out in conversations must change with a deployment, in "
            "two steps, as docs/aws.md says; a rotation in the background would break every link at once."
        ),
    },
    "Functions": {
        "AwsSolutions::AwsSolutions-APIG4": (
            "MCP clients bring each plugin's own OAuth token, and the control plane tokens of its own. The functions "
            "verify them; an authorizer knows neither."
        ),
        "AwsSolutions::AwsSolutions-L1": "3.13 is the version whose bytecode and wheels are built and tested here.",
        "Serverless::Serverless-LambdaLatestVersion": "The same: 3.13 is what is built and tested here.",
        "AwsSolutions::AwsSolutions-SQS3": "This is itself the queue of failures; an alarm watches it.",
        "Serverless::Serverless-SQSRedrivePolicy": "This is itself the queue of failures; nothing consumes it.",
        "Serverless::Serverless-LambdaDLQ": (
            "The API and the gateway invoke these and get their errors. The publisher, invoked without waiting, has an "
            "on-failure destination, which this rule does not know."
        ),
        "Serverless::Serverless-LambdaTracing": (
            "Each call leaves one log line with its milliseconds. The sandbox's role must stay without any permission, "
            "which X-Ray would end; traces of tenants' calls are not kept."
        ),
    },
    "Watch": {
        "Serverless::Serverless-SNSRedrivePolicy": "Mail has no queue of failures; SNS retries it by itself for hours.",
    },
    "Edge": {
        "AwsSolutions::AwsSolutions-CFR1": "Plugins are called by hosts anywhere; an operator may restrict it.",
        "AwsSolutions::AwsSolutions-CFR2": "The web ACL is a stage's choice: six dollars a month, on in prod.",
        "AwsSolutions::AwsSolutions-CFR4": (
            "Without a domain the distribution has CloudFront's own certificate, which comes with TLSv1 and can't be "
            "told otherwise; with a domain the minimum is TLSv1.2."
        ),
    },
}


def acknowledge(place: Place, stacks: Iterable[cdk.Stack]) -> None:
    """Acknowledge what is written above on `stacks`, and the wildcards of roles.py on the roles that have them."""
    for stack in stacks:
        part = stack.stack_name.removeprefix(place.stack(""))
        for finding, reason in STACK_WIDE.get(part, {}).items():
            _say(stack, finding, reason)
        if not place.stage.tls:
            for finding, reason in EMULATOR.items():
                _say(stack, finding, reason)
        if part == "Functions":
            for room in roles.PERMISSIONS:
                for resource, reason in _wildcards(room, place):
                    role = stack.node.find_child(f"{room.capitalize()}Role")
                    _say(role, f"AwsSolutions::AwsSolutions-IAM5[Resource::{resource}]", reason)
            interfaces = stack.node.find_child("SandboxClosedInterfaces")
            _say(interfaces, "AwsSolutions::AwsSolutions-IAM5[Resource::*]", INTERFACES)


def _wildcards(room: str, place: Place) -> Iterable[tuple[str, str]]:
    rights = roles.PERMISSIONS[room]
    for prefixes in rights.objects.values():
        for prefix in prefixes:
            yield f"{place.bucket_arn}/{prefix}/*", BY_PREFIX
    for other in rights.invokes:
        yield f"{place.function_arn(other)}:*", BY_QUALIFIER
    for other in (room, *rights.reads_logs_of):
        yield f"{place.log_group_arn(other)}:*", OWN_STREAMS


def _say(where: IConstruct, finding: str, reason: str) -> None:
    cdk.Validations.of(where).acknowledge(cdk.Acknowledgment(id=finding, reason=reason))
