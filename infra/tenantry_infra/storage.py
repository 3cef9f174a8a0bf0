"""Storage: everything that must outlive a deployment. `platform destroy` leaves this stack standing.

One bucket holds all bytes (versioned, encrypted, TLS only, public to nobody), encrypted under the data key but for
`secrets/`, which a policy of the bucket keeps under a key of its own: control may write there and can't read, because
it has no right to decrypt with that key. Two tables count: `usage` (calls, going in and out) and `limits` (files).
"""

from __future__ import annotations

import string

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from tenantry_infra.place import EDGE_REGION, Place

# Kept when the stack goes; but not when its very first creation fails, or a second try would find the names taken.
KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
OLD_VERSIONS_DAYS = 30  # how long a mistake can be undone
ACCESS_LOG_DAYS = 90
ORIGIN_SECRET = "origin"
KEY_RINGS = ("seal",)  # that all environments of the gateway share; keys of signed links are objects (links.py)
FIRST_KEY = "k1"
KEY_LENGTH = 64  # letters and digits: read as base64 they are 48 bytes, more than the 32 of an HMAC-SHA256 key


class Storage(Stack):
    """The bucket, its log bucket, the two keys, the two tables, the shared secrets."""

    def __init__(self, scope: Construct, place: Place) -> None:
        super().__init__(
            scope,
            place.stack("Storage"),
            env={"account": place.account, "region": place.region},
            termination_protection=place.stage.protected,
            description="Tenantry: what is kept",
        )
        self.place = place
        self.data_key = self._key("DataKey", "data")
        self.secrets_key = self._key("SecretsKey", "secrets")
        self.logs = self._log_bucket()
        self.bucket = self._bucket()
        self.limits = self._table("Limits", "limits")
        self.usage = self._table("Usage", "usage")
        self._shared_secret("Origin", ORIGIN_SECRET, replicate=True)
        for ring in KEY_RINGS:
            self._key_ring(ring)
        CfnOutput(self, "StoreBucket", value=place.bucket)

    def _key(self, logical: str, part: str) -> kms.Key:
        return kms.Key(
            self,
            logical,
            alias=f"alias/{self.place.name(part)}",
            description=f"Tenantry {self.place.stage.name}: {part}",
            enable_key_rotation=True,
            removal_policy=KEPT,
        )

    def _log_bucket(self) -> s3.Bucket:
        return s3.Bucket(
            self,
            "Logs",
            bucket_name=self.place.log_bucket,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            # CloudFront's standard logs are delivered by an ACL, S3's by the bucket's policy.
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_PREFERRED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=self.place.stage.tls,
            versioned=False,
            lifecycle_rules=[s3.LifecycleRule(id="expire", expiration=Duration.days(ACCESS_LOG_DAYS))],
            removal_policy=KEPT,
        )

    def _bucket(self) -> s3.Bucket:
        stage = self.place.stage
        bucket = s3.Bucket(
            self,
            "Store",
            bucket_name=self.place.bucket,
            versioned=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.data_key,
            bucket_key_enabled=True,
            enforce_ssl=stage.tls,
            minimum_tls_version=1.2 if stage.tls else None,
            server_access_logs_bucket=self.logs,
            server_access_logs_prefix="s3/",
            cors=[
                s3.CorsRule(
                    # A widget's fetch follows the gateway's redirect here, with Origin null.
                    allowed_methods=[s3.HttpMethods.GET, s3.HttpMethods.HEAD],
                    allowed_origins=["*"],
                    allowed_headers=["*"],
                    exposed_headers=["Accept-Ranges", "Content-Disposition", "Content-Range", "ETag"],
                    max_age=86400,
                )
            ],
            lifecycle_rules=[
                s3.LifecycleRule(id="parts", abort_incomplete_multipart_upload_after=Duration.days(1)),
                s3.LifecycleRule(
                    id="uploads",
                    prefix="uploads/",
                    expiration=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="files",
                    prefix="files/",
                    expiration=Duration.days(stage.file_days),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="pending",
                    prefix="pending/",
                    expiration=Duration.days(stage.pending_days),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="versions",
                    noncurrent_version_expiration=Duration.days(OLD_VERSIONS_DAYS),
                    expired_object_delete_marker=True,
                ),
            ],
            removal_policy=KEPT,
        )
        cloudfront = iam.ServicePrincipal("cloudfront.amazonaws.com")
        of_ours = {"StringLike": {"aws:SourceArn": f"arn:aws:cloudfront::{self.place.account}:distribution/*"}}
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="PublishedTreesOnly",
                principals=[cloudfront],
                actions=["s3:GetObject"],
                resources=[bucket.arn_for_objects("site/*")],
                conditions=of_ours,
            )
        )
        self.data_key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="PublishedTrees",
                principals=[cloudfront],
                actions=["kms:Decrypt"],
                resources=["*"],
                conditions=of_ours,
            )
        )
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="SecretsUnderTheirOwnKey",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[bucket.arn_for_objects("secrets/*")],
                conditions={
                    "StringNotEquals": {"s3:x-amz-server-side-encryption-aws-kms-key-id": self.secrets_key.key_arn}
                },
            )
        )
        return bucket

    def _table(self, logical: str, part: str) -> dynamodb.Table:
        return dynamodb.Table(  # not TableV2: its GlobalTable is unknown to emulators
            self,
            logical,
            table_name=self.place.name(part),
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="expires",
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED,
            encryption_key=self.data_key,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=KEPT,
        )

    def _shared_secret(self, logical: str, part: str, *, replicate: bool) -> None:
        elsewhere = replicate and self.place.region != EDGE_REGION
        secretsmanager.CfnSecret(
            self,
            logical,
            name=self.place.name(part),
            description="What CloudFront proves itself with to the gateway",
            generate_secret_string=secretsmanager.CfnSecret.GenerateSecretStringProperty(
                exclude_characters=string.punctuation, password_length=KEY_LENGTH
            ),
            replica_regions=[secretsmanager.CfnSecret.ReplicaRegionProperty(region=EDGE_REGION)] if elsewhere else None,
        ).apply_removal_policy(KEPT)

    def _key_ring(self, part: str) -> None:
        secretsmanager.CfnSecret(
            self,
            f"Keys{part.capitalize()}",
            name=self.place.name(part),
            description=f"Keys by id for {part}; stages.py says which of them are in use",
            generate_secret_string=secretsmanager.CfnSecret.GenerateSecretStringProperty(
                exclude_characters=string.punctuation,
                password_length=KEY_LENGTH,
                secret_string_template="{}",
                generate_string_key=FIRST_KEY,
            ),
        ).apply_removal_policy(KEPT)
