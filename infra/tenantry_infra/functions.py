"""Functions: what runs, one function for each runtime package and two for the sandbox, each with its own role.

Gateway and control start from a snapshot (SnapStart) where the stage says so; the API calls their alias `live`, so a
new version takes over when it is ready and a failed deployment leaves the old one serving. The sandboxes isolate
tenants (`PER_TENANT`): every Invoke names a tenant id, and no two ids share an environment. They have no permission,
log groups included: what tenants' code prints comes back in its reply, and the gateway logs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from tenantry_infra import roles
from tenantry_infra.api import Api
from tenantry_infra.closed import ClosedNetwork, retention
from tenantry_infra.environments import environment, offered
from tenantry_infra.place import Place
from tenantry_infra.stages import MEMORY
from tenantry_infra.storage import Storage

LIVE: Final = "live"
RUNTIME: Final = lambda_.Runtime.PYTHON_3_13  # the builder's LAMBDA_PYTHON; a test compares the two


@dataclass(frozen=True, slots=True)
class Spec:
    """A function: the `zip` it is made of, its `seconds`, scratch space in MB, whether it may start from a snapshot."""

    zip: str
    seconds: int
    scratch: int = 512
    snapshot: bool = False


# 29 s: the HTTP API gives up at 30, and a tool's own budget is 25. The publisher unpacks 250 MB and describes.
SPECS: Final[Mapping[str, Spec]] = {
    "gateway": Spec("gateway", 29, snapshot=True),
    "control": Spec("control", 29, snapshot=True),
    "publisher": Spec("publisher", 600, scratch=2048),
    "sandbox-public": Spec("sandbox", 29, scratch=1024),
    "sandbox-closed": Spec("sandbox", 29, scratch=1024),
}


class Functions(Stack):
    """The five functions, the HTTP API, the closed network, the queue of failed publishes."""

    def __init__(self, scope: Construct, place: Place, storage: Storage, zips: Path) -> None:
        super().__init__(
            scope,
            place.stack("Functions"),
            env={"account": place.account, "region": place.region},
            description="Tenantry: what runs",
        )
        self.add_stack_dependency(storage)
        self.place = place
        self.zips = zips
        self.functions: dict[str, lambda_.Function] = {}
        self.api = Api(self, "Api", place)
        values = offered(place, api_host=self.api.host, secrets_key=storage.secrets_key.key_arn)
        for room in roles.PERMISSIONS:
            role = self._role(room)
            for statement in roles.statements(
                room, place, data_key=storage.data_key.key_arn, secrets_key=storage.secrets_key.key_arn
            ):
                role.add_to_policy(statement)
            self.functions[room] = self._function(room, role, environment(room, values))
        self._sandboxes()
        self._failed_publishes()
        for room in ("gateway", "control"):
            function = self.functions[room]
            alias = lambda_.Alias(self, f"{_title(room)}Live", alias_name=LIVE, version=function.current_version)
            self.api.may_call(alias)
        CfnOutput(self, "ApiUrl", value=f"https://{self.api.host}")
        CfnOutput(self, "SandboxPublicArn", value=place.function_arn("sandbox-public"))
        CfnOutput(self, "SandboxClosedArn", value=place.function_arn("sandbox-closed"))

    def _role(self, room: str) -> iam.Role:
        return iam.Role(
            self,
            f"{_title(room)}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Tenantry {self.place.stage.name}: the function {room}",
        )

    def _function(
        self,
        room: str,
        role: iam.IRole,
        variables: Mapping[str, str],
        tenancy: lambda_.TenancyConfig | None = None,
    ) -> lambda_.Function:
        place, spec = self.place, SPECS[room]
        function = lambda_.Function(
            self,
            _title(room),
            function_name=place.name(room),
            description=f"Tenantry {place.stage.name}: {room}",
            runtime=RUNTIME,
            architecture=lambda_.Architecture.ARM_64,
            handler=f"tenantry_{spec.zip}.on_lambda.handler",
            code=lambda_.Code.from_asset(str(self.zips / f"{spec.zip}-{place.stage.target}.zip")),
            memory_size=place.stage.memory.get(room, MEMORY[room]),
            timeout=Duration.seconds(spec.seconds),
            ephemeral_storage_size=Size.mebibytes(spec.scratch),
            reserved_concurrent_executions=place.stage.reserved.get(room),
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if spec.snapshot and place.stage.snapstart else None,
            environment=dict(variables),
            role=role,
            tenancy_config=tenancy,
            log_group=None if tenancy else self._log_group(room),
        )
        return function

    def _log_group(self, room: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            f"{_title(room)}Log",
            log_group_name=f"/aws/lambda/{self.place.name(room)}",
            retention=retention(self.place.stage.log_days),
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _sandboxes(self) -> None:
        alone = lambda_.TenancyConfig.PER_TENANT
        self.functions["sandbox-public"] = self._function("sandbox-public", self._role("sandbox-public"), {}, alone)
        role = self._role("sandbox-closed")
        policy = iam.Policy(self, "SandboxClosedInterfaces", statements=roles.closed_statements(self.place))
        policy.attach_to_role(role)
        closed = self._function("sandbox-closed", role, {}, alone)
        network = ClosedNetwork(self, "Closed", self.place)
        bare = closed.node.default_child
        assert isinstance(bare, lambda_.CfnFunction)
        bare.vpc_config = lambda_.CfnFunction.VpcConfigProperty(
            subnet_ids=network.subnet_ids, security_group_ids=network.security_group_ids
        )
        closed.node.add_dependency(policy)  # Lambda makes the interfaces with this role while it creates the function
        self.functions["sandbox-closed"] = closed

    def _failed_publishes(self) -> None:
        self.failed = sqs.Queue(
            self,
            "FailedPublishes",
            queue_name=self.place.name("failed-publishes"),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=self.place.stage.tls,
            retention_period=Duration.days(14),
        )
        self.functions["publisher"].configure_async_invoke(
            on_failure=destinations.SqsDestination(self.failed), retry_attempts=1, max_event_age=Duration.hours(1)
        )


def _title(room: str) -> str:
    return "".join(word.capitalize() for word in room.split("-"))
