"""The network without a way out, where code of plugins with `egress = "none"` runs.

Two isolated subnets: no internet gateway, no NAT, no peer. One gateway endpoint leads to S3, and its policy names our
bucket only: for fetching a bundle or a file, and for uploading one, each by a request that the gateway signed. The
resolver of a network answers anything to anybody in it, which is a way out by DNS: a firewall lets it resolve the
bucket's own name and no other. A security group without inbound rules keeps environments apart.
"""

from __future__ import annotations

from aws_cdk import CfnTag, Fn, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53resolver as resolver
from constructs import Construct

from tenantry_infra.place import Place

RANGE = "10.77.0.0/20"
SUBNETS = ("10.77.0.0/22", "10.77.4.0/22")  # 1,019 addresses each; Lambda shares an interface between environments
ANY_ADDRESS = "0.0.0.0/0"


class ClosedNetwork(Construct):
    """`subnet_ids` and `security_group_ids` for the closed sandbox."""

    def __init__(self, scope: Construct, logical: str, place: Place) -> None:
        super().__init__(scope, logical)
        self.place = place
        tags = [CfnTag(key="Name", value=place.name("closed"))]
        self.vpc = ec2.CfnVPC(
            self, "Vpc", cidr_block=RANGE, enable_dns_support=True, enable_dns_hostnames=True, tags=tags
        )
        routes = ec2.CfnRouteTable(self, "Routes", vpc_id=self.vpc.ref, tags=tags)
        self.subnet_ids: list[str] = []
        for index, block in enumerate(SUBNETS):
            subnet = ec2.CfnSubnet(
                self,
                f"Subnet{index + 1}",
                vpc_id=self.vpc.ref,
                cidr_block=block,
                availability_zone=Fn.select(index, Fn.get_azs()),
                map_public_ip_on_launch=False,
                tags=tags,
            )
            ec2.CfnSubnetRouteTableAssociation(
                self, f"Route{index + 1}", subnet_id=subnet.ref, route_table_id=routes.ref
            )
            self.subnet_ids.append(subnet.ref)
        group = ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=self.vpc.ref,
            group_description="The closed sandbox: https out, as far as the routes lead; nothing in",
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="tcp", from_port=443, to_port=443, cidr_ip=ANY_ADDRESS, description="S3 by the endpoint"
                )
            ],
        )
        self.security_group_ids = [group.attr_group_id]
        ec2.CfnVPCEndpoint(
            self,
            "Store",
            vpc_id=self.vpc.ref,
            service_name=f"com.amazonaws.{place.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[routes.ref],
            policy_document=iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(
                        principals=[iam.AnyPrincipal()],
                        actions=["s3:GetObject"],
                        resources=[f"{place.bucket_arn}/bundles/*", f"{place.bucket_arn}/files/*"],
                    ),
                    iam.PolicyStatement(
                        principals=[iam.AnyPrincipal()],
                        actions=["s3:PutObject"],
                        resources=[f"{place.bucket_arn}/pending/*"],
                    ),
                ]
            ),
        )
        if place.stage.guarded_dns:
            self._guard_dns()
        if place.stage.flow_logs:
            self._log_refusals()

    def _guard_dns(self) -> None:
        hosts = [f"{self.place.bucket}.s3.{self.place.region}.amazonaws.com", f"s3.{self.place.region}.amazonaws.com"]
        ours = resolver.CfnFirewallDomainList(self, "OurNames", name=self.place.name("ours"), domains=hosts)
        rest = resolver.CfnFirewallDomainList(self, "AnyName", name=self.place.name("any"), domains=["*"])
        rule = resolver.CfnFirewallRuleGroup.FirewallRuleProperty
        rules = resolver.CfnFirewallRuleGroup(
            self,
            "NamesRules",
            name=self.place.name("names"),
            firewall_rules=[
                rule(action="ALLOW", firewall_domain_list_id=ours.attr_id, priority=1),
                rule(action="BLOCK", block_response="NODATA", firewall_domain_list_id=rest.attr_id, priority=2),
            ],
        )
        resolver.CfnFirewallRuleGroupAssociation(
            self,
            "Names",
            firewall_rule_group_id=rules.attr_id,
            vpc_id=self.vpc.ref,
            priority=101,  # AWS keeps 100 and below
            name=self.place.name("names"),
        )

    def _log_refusals(self) -> None:
        group = logs.LogGroup(
            self,
            "Refused",
            log_group_name=f"/tenantry/{self.place.stage.name}/closed-network",
            retention=retention(self.place.stage.log_days),
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = iam.Role(self, "RefusedRole", assumed_by=iam.ServicePrincipal("vpc-flow-logs.amazonaws.com"))
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                resources=[group.log_group_arn],
            )
        )
        ec2.CfnFlowLog(
            self,
            "RefusedLog",
            resource_id=self.vpc.ref,
            resource_type="VPC",
            traffic_type="REJECT",
            log_destination_type="cloud-watch-logs",
            log_group_name=group.log_group_name,
            deliver_logs_permission_arn=role.role_arn,
        )


def retention(days: int) -> logs.RetentionDays:
    """CloudWatch's name for a number of days. Raises: KeyError for one that it does not have."""
    return {
        1: logs.RetentionDays.ONE_DAY,
        7: logs.RetentionDays.ONE_WEEK,
        30: logs.RetentionDays.ONE_MONTH,
        90: logs.RetentionDays.THREE_MONTHS,
    }[days]
