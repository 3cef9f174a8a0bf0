"""The HTTP API in front of gateway and control: two routes, one wildcard permission for each function.

API Gateway renames a function's WWW-Authenticate (field report R69). The gateway sends its challenge a second time as
`x-mcp-challenge`, and the integration's response mapping for 401 and 403 writes it back where clients look for it.
This mapping is documented by AWS and was never run there by us; docs/aws.md names the way out if it fails.
"""

from __future__ import annotations

import json
from typing import Final

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from tenantry_infra.closed import retention
from tenantry_infra.environments import CONTROL_PATH
from tenantry_infra.place import Place

LIVE: Final = "live"
MILLISECONDS: Final = 29_500  # the function ends at 29 s and answers; the API's own limit is 30,000
CHALLENGE: Final = "$response.header.x-mcp-challenge"
CONTROL_ROUTE: Final = f"ANY {CONTROL_PATH}/{{proxy+}}"

ACCESS_LOG: Final = json.dumps(
    {
        "event": "request",
        "id": "$context.requestId",
        "time": "$context.requestTimeEpoch",
        "ip": "$context.identity.sourceIp",
        "method": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "ms": "$context.responseLatency",
        "function_ms": "$context.integrationLatency",
        "bytes": "$context.responseLength",
        "error": "$context.error.message",
    }
)


class Api(Construct):
    """`host`: the API's own host name. `may_call` lets it invoke a function's alias."""

    def __init__(self, scope: Construct, logical: str, place: Place) -> None:
        super().__init__(scope, logical)
        self.place = place
        self.api = apigateway.CfnApi(
            self,
            "Http",
            name=place.name("api"),
            protocol_type="HTTP",
            description=f"Tenantry {place.stage.name}",
        )
        self.host = f"{self.api.ref}.execute-api.{place.region}.amazonaws.com"
        gateway = self._integration("gateway")
        control = self._integration("control")
        self._route("Default", "$default", gateway)
        self._route("Control", CONTROL_ROUTE, control)
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/tenantry/{place.stage.name}/api",
            retention=retention(place.stage.log_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.stage = apigateway.CfnStage(
            self,
            "Stage",
            api_id=self.api.ref,
            stage_name="$default",
            auto_deploy=True,
            default_route_settings=apigateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=place.stage.rate,
                throttling_burst_limit=place.stage.burst,
                detailed_metrics_enabled=True,
            ),
            access_log_settings=apigateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=log.log_group_arn, format=ACCESS_LOG
            ),
        )

    def may_call(self, alias: lambda_.Alias) -> None:
        """One statement for every method, path and stage: a policy holds 20,480 bytes, and one a route fills it."""
        lambda_.CfnPermission(
            self,
            f"May{alias.node.id}",
            action="lambda:InvokeFunction",
            function_name=alias.function_arn,
            principal="apigateway.amazonaws.com",
            source_account=self.place.account,
            source_arn=f"arn:aws:execute-api:{self.place.region}:{self.place.account}:{self.api.ref}/*",
        )

    def _integration(self, room: str) -> apigateway.CfnIntegration:
        stack = Stack.of(self)
        mapped = {
            "ResponseParameters": [{"Source": CHALLENGE, "Destination": "overwrite:header.www-authenticate"}],
        }
        return apigateway.CfnIntegration(
            self,
            f"To{room.capitalize()}",
            api_id=self.api.ref,
            integration_type="AWS_PROXY",
            integration_method="POST",
            payload_format_version="2.0",
            timeout_in_millis=MILLISECONDS,
            integration_uri=(
                f"arn:{stack.partition}:apigateway:{self.place.region}:lambda:path/2015-03-31/functions/"
                f"{self.place.function_arn(room)}:{LIVE}/invocations"
            ),
            response_parameters={"401": mapped, "403": mapped} if room == "gateway" else None,
        )

    def _route(self, logical: str, key: str, integration: apigateway.CfnIntegration) -> None:
        apigateway.CfnRoute(
            self,
            logical,
            api_id=self.api.ref,
            route_key=key,
            authorization_type="NONE",
            target=f"integrations/{integration.ref}",
        )
