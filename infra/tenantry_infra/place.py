"""Where a deployment stands: account, region, domain. And the names that everything in it has.

Names that another stack or a policy must know are spelled here and given explicitly, so that no stack waits for
another one's output: the roles name functions before these exist, and Edge names the bucket from another region.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenantry_infra.stages import Stage

EDGE_REGION = "us-east-1"  # CloudFront takes certificates and web ACLs from this region only


@dataclass(frozen=True, slots=True)
class Place:
    """`domain` is the base that plugins get their hosts under ("" for CloudFront's own name), `zone` its Route 53
    hosted zone's id, `certificate` the ARN of one that covers `*.domain` where the zone is elsewhere. `public_url` is
    CloudFront's own address, known after the first deploy. `notify` gets the alarms' mail."""

    stage: Stage
    account: str
    region: str
    domain: str = ""
    zone: str = ""
    certificate: str = ""
    public_url: str = ""
    notify: str = ""

    def name(self, part: str) -> str:
        """`tenantry-{stage}-{part}`: a function's, a table's or a secret's name."""
        return f"tenantry-{self.stage.name}-{part}"

    def stack(self, part: str) -> str:
        """`Tenantry-{stage}-{part}`: a stack's name."""
        return f"Tenantry-{self.stage.name}-{part}"

    @property
    def bucket(self) -> str:
        """The store's bucket: unique in the world by account and region."""
        return f"{self.name('store')}-{self.account}-{self.region}"

    @property
    def log_bucket(self) -> str:
        """Where S3 and CloudFront write who fetched what."""
        return f"{self.name('logs')}-{self.account}-{self.region}"

    @property
    def bucket_arn(self) -> str:
        return f"arn:aws:s3:::{self.bucket}"

    def function_arn(self, part: str) -> str:
        """The ARN of the function `part`, without version."""
        return f"arn:aws:lambda:{self.region}:{self.account}:function:{self.name(part)}"

    def table_arn(self, part: str) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name(part)}"

    def log_group_arn(self, part: str) -> str:
        return f"arn:aws:logs:{self.region}:{self.account}:log-group:/aws/lambda/{self.name(part)}"
