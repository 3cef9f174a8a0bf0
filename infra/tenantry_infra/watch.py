"""Watch: what an operator looks at, and what wakes one up.

Metrics come from the fields of the gateway's log lines (tenantry_gateway/log.py), through metric filters, so they
need no code and cost nothing a tenant. Alarms go to one topic; with an address of yours it sends mail. The budget is
the account's, by the stage's tag.
"""

from __future__ import annotations

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from tenantry_infra.functions import Functions
from tenantry_infra.place import Place

MINUTES: Final = Duration.minutes(5)
NOT_OURS: Final = ("sandbox.timeout", "sandbox.crashed", "sandbox.refused", "sandbox.too-large")

# name -> (pattern over the fields of log.py, the field that is the value, or "1")
FILTERS: Final = {
    "Calls": ('{ $.event = "call" }', "1"),
    "CallMilliseconds": ('{ $.event = "call" && $.ms >= 0 }', "$.ms"),
    "Refusals": ('{ $.code = "*" }', "1"),
    "ServerFaults": ("{ $.status >= 500 }", "1"),
    "ColdSandboxes": ("{ $.cold IS TRUE }", "1"),
    "SandboxFaults": ('{ $.code = "sandbox.*" }', "1"),
    "StorageFaults": ('{ $.code = "objects.unavailable" }', "1"),
    "Tracebacks": ('{ $.traceback = "*" }', "1"),
}


class Watch(Stack):
    """The dashboard, the alarms, the topic they go to, the budget."""

    def __init__(self, scope: Construct, place: Place, functions: Functions) -> None:
        super().__init__(
            scope,
            place.stack("Watch"),
            env={"account": place.account, "region": place.region},
            description="Tenantry: what is watched",
        )
        self.add_stack_dependency(functions)
        self.place = place
        self.space = f"Tenantry/{place.stage.name}"
        self.topic = self._topic()
        for name, (pattern, value) in FILTERS.items():
            self._filter(functions, name, pattern, value)
        self._alarms(functions)
        self._dashboard(functions)
        if place.stage.budget:
            self._budget()

    def _topic(self) -> sns.Topic:
        key = kms.Key(
            self, "AlarmKey", description=f"Tenantry {self.place.stage.name}: alarms", enable_key_rotation=True
        )
        key.add_to_resource_policy(  # CloudWatch can't use AWS's own key for topics
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": self.place.account}},
            )
        )
        topic = sns.Topic(
            self,
            "Alarms",
            topic_name=self.place.name("alarms"),
            master_key=key,
            enforce_ssl=self.place.stage.tls,
        )
        if self.place.notify:
            topic.add_subscription(subscriptions.EmailSubscription(self.place.notify))
        return topic

    def _filter(self, functions: Functions, name: str, pattern: str, value: str) -> None:
        logs.CfnMetricFilter(
            self,
            f"Filter{name}",
            log_group_name=f"/aws/lambda/{self.place.name('gateway')}",
            filter_pattern=pattern,
            metric_transformations=[
                logs.CfnMetricFilter.MetricTransformationProperty(
                    metric_name=name, metric_namespace=self.space, metric_value=value
                )
            ],
        )

    def _metric(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return cloudwatch.Metric(namespace=self.space, metric_name=name, statistic=statistic, period=MINUTES)

    def _function(self, room: str, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/Lambda",
            metric_name=name,
            statistic=statistic,
            period=MINUTES,
            dimensions_map={"FunctionName": self.place.name(room)},
        )

    def _api(self, functions: Functions, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/ApiGateway",
            metric_name=name,
            statistic=statistic,
            period=MINUTES,
            dimensions_map={"ApiId": functions.api.api.ref},
        )

    def _alarms(self, functions: Functions) -> None:
        failed = cloudwatch.Metric(
            namespace="AWS/SQS",
            metric_name="ApproximateNumberOfMessagesVisible",
            statistic="Maximum",
            period=MINUTES,
            dimensions_map={"QueueName": self.place.name("failed-publishes")},
        )
        for name, metric, threshold, says in (
            ("ServerFaults", self._metric("ServerFaults"), 5, "The gateway answered 5xx"),
            ("StorageFaults", self._metric("StorageFaults"), 5, "The store did not answer; last good releases serve"),
            ("GatewayErrors", self._function("gateway", "Errors"), 5, "The gateway's function failed"),
            ("GatewayThrottles", self._function("gateway", "Throttles"), 1, "No environment was free for the gateway"),
            ("ControlErrors", self._function("control", "Errors"), 5, "The control plane's function failed"),
            ("PublicThrottles", self._function("sandbox-public", "Throttles"), 1, "Tools wait for an environment"),
            ("ClosedThrottles", self._function("sandbox-closed", "Throttles"), 1, "Tools wait for an environment"),
            ("ApiFaults", self._api(functions, "5xx"), 5, "The HTTP API answered 5xx"),
            ("SlowAnswers", self._api(functions, "Latency", "p99"), 25_000, "Answers near the API's 30 s limit"),
            ("FailedPublishes", failed, 1, "A publish died twice; its event is in the queue"),
        ):
            cloudwatch.Alarm(
                self,
                f"Alarm{name}",
                alarm_name=self.place.name(name),
                alarm_description=says,
                metric=metric,
                threshold=threshold,
                evaluation_periods=1,
                comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            ).add_alarm_action(actions.SnsAction(self.topic))

    def _dashboard(self, functions: Functions) -> None:
        def graph(title: str, *metrics: cloudwatch.IMetric) -> cloudwatch.GraphWidget:
            return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8, height=6)

        milliseconds = [self._metric("CallMilliseconds", statistic) for statistic in ("p50", "p90", "p99")]
        sandboxes = ("sandbox-public", "sandbox-closed")
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=self.place.name("overview"),
            widgets=[
                [
                    graph("Calls", self._metric("Calls"), self._metric("Refusals")),
                    graph("Milliseconds of a call", *milliseconds),
                    graph("Faults", *(self._metric(name) for name in ("ServerFaults", "SandboxFaults", "Tracebacks"))),
                ],
                [
                    graph("HTTP API", *(self._api(functions, name) for name in ("Count", "4xx", "5xx"))),
                    graph(
                        "Environments busy",
                        *(self._function(room, "ConcurrentExecutions", "Maximum") for room in ("gateway", *sandboxes)),
                    ),
                    graph(
                        "Cold sandboxes and throttles",
                        self._metric("ColdSandboxes"),
                        *(self._function(room, "Throttles") for room in ("gateway", *sandboxes)),
                    ),
                ],
            ],
        )

    def _budget(self) -> None:
        place = self.place
        mail = budgets.CfnBudget.NotificationWithSubscribersProperty(
            notification=budgets.CfnBudget.NotificationProperty(
                comparison_operator="GREATER_THAN", notification_type="FORECASTED", threshold=100
            ),
            subscribers=[budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=place.notify)],
        )
        budgets.CfnBudget(
            self,
            "Budget",
            budget=budgets.CfnBudget.BudgetDataProperty(
                budget_name=place.name("month"),
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budgets.CfnBudget.SpendProperty(amount=place.stage.budget, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:tenantry-stage${place.stage.name}"]},
            ),
            notifications_with_subscribers=[mail] if place.notify else None,
        )
