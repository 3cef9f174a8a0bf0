"""Edge: what the world reaches. CloudFront, its three small functions, the certificate, DNS, optionally a web ACL.

Assets of both address forms come from the bucket by origin access control; everything else goes to the HTTP API with
a secret header, without which the gateway does not believe x-forwarded-host. With no domain the distribution's own
name serves the path form, so a first deployment needs no DNS. CloudFront takes its certificate from us-east-1 only,
so the stack stands there; the API is named to it by a reference across regions where the stage's region is another.

There are no custom error responses: they would be the whole distribution's, and rewrite the gateway's own 403.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from aws_cdk import Annotations, CfnOutput, Duration, SecretValue, Stack
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from tenantry_infra.functions import Functions
from tenantry_infra.place import EDGE_REGION, Place

ORIGIN_HEADER: Final = "x-tenantry-origin"
ASSET_PATHS: Final = ("/assets/*", "/v/*/assets/*", "/t/*/assets/*")
ORIGIN_SECONDS: Final = 30  # CloudFront's default limit, and the API's own
YEAR: Final = Duration.days(365)
WAF_REQUESTS: Final = 300_000  # of one address in five minutes: ChatGPT calls for everybody from a few addresses


class Edge(Stack):
    """The distribution and what it needs. Outputs `Url` (its own name) and, with a domain, `Domain`."""

    def __init__(self, scope: Construct, place: Place, functions: Functions) -> None:
        super().__init__(
            scope,
            place.stack("Edge"),
            env={"account": place.account, "region": EDGE_REGION},
            cross_region_references=place.region != EDGE_REGION,
            description="Tenantry: what the world reaches",
        )
        self.add_stack_dependency(functions)
        self.place = place
        self.zone = (
            route53.HostedZone.from_hosted_zone_attributes(
                self, "Zone", hosted_zone_id=place.zone, zone_name=place.domain
            )
            if place.zone
            else None
        )
        self.distribution = self._distribution(functions.api.host)
        if place.domain and self.zone:
            self._records(self.zone)
        CfnOutput(self, "Url", value=f"https://{self.distribution.distribution_domain_name}")
        if place.domain:
            CfnOutput(self, "Domain", value=place.domain)

    def _distribution(self, api_host: str) -> cloudfront.Distribution:
        place = self.place
        secret = SecretValue.secrets_manager(place.name("origin")).unsafe_unwrap()  # a reference, not the value
        gateway = cloudfront.BehaviorOptions(
            origin=origins.HttpOrigin(
                api_host,
                protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
                origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
                read_timeout=Duration.seconds(ORIGIN_SECONDS),
                custom_headers={ORIGIN_HEADER: secret},
            ),
            allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
            cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
            origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,  # a redirected POST loses its body
            compress=False,
            function_associations=[self._on_request("Forward", "forward.js")],
        )
        bucket = s3.Bucket.from_bucket_attributes(
            self, "Store", bucket_name=place.bucket, region=place.region, account=place.account
        )
        assets = cloudfront.BehaviorOptions(
            origin=origins.S3BucketOrigin.with_origin_access_control(bucket),
            allowed_methods=cloudfront.AllowedMethods.ALLOW_GET_HEAD_OPTIONS,
            cache_policy=cloudfront.CachePolicy.CACHING_OPTIMIZED,
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
            response_headers_policy=self._asset_headers(),
            compress=False,  # compressed once, when it was published
            function_associations=[
                self._on_request("Assets", "assets.js"),
                cloudfront.FunctionAssociation(
                    event_type=cloudfront.FunctionEventType.VIEWER_RESPONSE,
                    function=self._function("AssetHeaders", "asset_headers.js"),
                ),
            ],
        )
        # Storage's own policy lets the account's distributions read site/*; nothing is to be added to it from here.
        Annotations.of(self).acknowledge_warning(
            "@aws-cdk/aws-cloudfront-origins:updateImportedBucketPolicyOac",
            "Storage's bucket policy allows site/* to the account's distributions.",
        )
        return cloudfront.Distribution(
            self,
            "Distribution",
            comment=f"Tenantry {place.stage.name}",
            default_behavior=gateway,
            additional_behaviors=dict.fromkeys(ASSET_PATHS, assets),
            domain_names=[f"*.{place.domain}"] if place.domain else None,
            certificate=self._certificate(),
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            price_class=cloudfront.PriceClass[
                {"PriceClass_All": "PRICE_CLASS_ALL", "PriceClass_100": "PRICE_CLASS_100"}[place.stage.price_class]
            ],
            web_acl_id=self._web_acl() if place.stage.waf else None,
            enable_logging=True,
            log_bucket=s3.Bucket.from_bucket_attributes(
                self, "Logs", bucket_name=place.log_bucket, region=place.region, account=place.account
            ),
            log_file_prefix="cloudfront/",
        )

    def _function(self, logical: str, file: str) -> cloudfront.Function:
        source = Path(__file__).with_name("edge_functions") / file
        code = source.read_text(encoding="utf-8").replace("__BASE__", self.place.domain.lower())
        return cloudfront.Function(
            self,
            logical,
            function_name=self.place.name(file.removesuffix(".js").replace("_", "-")),
            code=cloudfront.FunctionCode.from_inline(code),
            runtime=cloudfront.FunctionRuntime.JS_2_0,
        )

    def _on_request(self, logical: str, file: str) -> cloudfront.FunctionAssociation:
        return cloudfront.FunctionAssociation(
            event_type=cloudfront.FunctionEventType.VIEWER_REQUEST, function=self._function(logical, file)
        )

    def _asset_headers(self) -> cloudfront.ResponseHeadersPolicy:
        return cloudfront.ResponseHeadersPolicy(
            self,
            "AssetPolicy",
            response_headers_policy_name=self.place.name("assets"),
            cors_behavior=cloudfront.ResponseHeadersCorsBehavior(
                access_control_allow_origins=["*"],
                access_control_allow_methods=["GET", "HEAD", "OPTIONS"],
                access_control_allow_headers=["*"],
                access_control_expose_headers=["Accept-Ranges", "Content-Range", "ETag"],
                access_control_allow_credentials=False,
                access_control_max_age=Duration.days(1),
                origin_override=True,
            ),
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=YEAR, include_subdomains=False, override=True
                ),
            ),
            custom_headers_behavior=cloudfront.ResponseCustomHeadersBehavior(
                custom_headers=[
                    cloudfront.ResponseCustomHeader(
                        header="cross-origin-resource-policy", value="cross-origin", override=True
                    )
                ]
            ),
        )

    def _certificate(self) -> acm.ICertificate | None:
        place = self.place
        if not place.domain:
            return None
        if place.certificate:
            return acm.Certificate.from_certificate_arn(self, "Certificate", place.certificate)
        return acm.Certificate(
            self,
            "Certificate",
            domain_name=f"*.{place.domain}",
            validation=acm.CertificateValidation.from_dns(self.zone),
        )

    def _records(self, zone: route53.IHostedZone) -> None:
        target = route53.RecordTarget.from_alias(targets.CloudFrontTarget(self.distribution))
        name = f"*.{self.place.domain}."
        route53.ARecord(self, "V4", zone=zone, record_name=name, target=target)
        route53.AaaaRecord(self, "V6", zone=zone, record_name=name, target=target)

    def _web_acl(self) -> str:
        seen = waf.CfnWebACL.VisibilityConfigProperty
        return waf.CfnWebACL(
            self,
            "WebAcl",
            name=self.place.name("edge"),
            scope="CLOUDFRONT",
            default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=seen(
                cloud_watch_metrics_enabled=True, metric_name=self.place.name("edge"), sampled_requests_enabled=True
            ),
            # Not the common rule set: it refuses bodies over 8 KB, which tool calls have.
            rules=[
                waf.CfnWebACL.RuleProperty(
                    name="known-bad-addresses",
                    priority=0,
                    override_action=waf.CfnWebACL.OverrideActionProperty(none={}),
                    statement=waf.CfnWebACL.StatementProperty(
                        managed_rule_group_statement=waf.CfnWebACL.ManagedRuleGroupStatementProperty(
                            vendor_name="AWS", name="AWSManagedRulesAmazonIpReputationList"
                        )
                    ),
                    visibility_config=seen(
                        cloud_watch_metrics_enabled=True, metric_name="known-bad", sampled_requests_enabled=True
                    ),
                ),
                waf.CfnWebACL.RuleProperty(
                    name="one-address",
                    priority=1,
                    action=waf.CfnWebACL.RuleActionProperty(block={}),
                    statement=waf.CfnWebACL.StatementProperty(
                        rate_based_statement=waf.CfnWebACL.RateBasedStatementProperty(
                            limit=WAF_REQUESTS, aggregate_key_type="IP"
                        )
                    ),
                    visibility_config=seen(
                        cloud_watch_metrics_enabled=True, metric_name="one-address", sampled_requests_enabled=True
                    ),
                ),
            ],
        ).attr_arn
