"""What IAM would answer, for the policies in a synthesised template: the evaluation logic that the table needs.

An explicit Deny wins, then an Allow, else it is denied (IAM user guide, "Policy evaluation logic", one account). A role
and a bucket's policy add up within one account; a key's policy counts only where it does not hand over to IAM.
Intrinsic functions are resolved to what they will be, as far as names are given; what can't be known becomes a
placeholder of its own that matches nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Template = Mapping[str, Any]


class Templates:
    """Templates of one place by stack, that resolve each other's exports."""

    def __init__(self, templates: Mapping[str, Template], *, account: str, region: str) -> None:
        self._templates, self._account, self._region = templates, account, region
        self._exports: dict[str, Any] = {}
        for template in templates.values():
            for output in template.get("Outputs", {}).values():
                if "Export" in output:
                    self._exports[str(output["Export"]["Name"])] = (template, output["Value"])

    def resolve(self, template: Template, value: Any) -> Any:
        """`value` without intrinsic functions."""
        if isinstance(value, list):
            return [self.resolve(template, item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Fn::Join":
                return argument[0].join(str(self.resolve(template, part)) for part in argument[1])
            if name == "Ref":
                return self._ref(template, argument)
            if name == "Fn::GetAtt":
                return self._attribute(template, *argument)
            if name == "Fn::ImportValue":
                return self.resolve(*self._exports[argument])
            if name == "Fn::Sub":
                return re.sub(r"\$\{([^}]+)\}", lambda m: str(self._ref(template, m[1])), argument)
        return {key: self.resolve(template, item) for key, item in value.items()}

    def role_policy(self, stack: str, prefix: str) -> tuple[str, list[dict[str, Any]]]:
        """The logical id of the role whose id starts with `prefix`, and every statement that is attached to it."""
        template = self._templates[stack]
        ids = [key for key, found in template["Resources"].items()
               if found["Type"] == "AWS::IAM::Role" and key.startswith(prefix)]  # fmt: skip
        (role,) = ids
        properties = template["Resources"][role]["Properties"]
        assert "ManagedPolicyArns" not in properties, "a managed policy can't be evaluated here"
        documents = [policy["PolicyDocument"] for policy in properties.get("Policies", ())]
        for found in template["Resources"].values():
            if found["Type"] == "AWS::IAM::Policy" and {"Ref": role} in found["Properties"].get("Roles", ()):
                documents.append(found["Properties"]["PolicyDocument"])
        return role, [self.resolve(template, s) for document in documents for s in document["Statement"]]

    def bucket_policy(self, stack: str, bucket: str) -> list[dict[str, Any]]:
        """The statements of the policy of the bucket named `bucket`."""
        template = self._templates[stack]
        for found in template["Resources"].values():
            properties = found["Properties"]
            if found["Type"] == "AWS::S3::BucketPolicy" and self.resolve(template, properties["Bucket"]) == bucket:
                return list(self.resolve(template, properties["PolicyDocument"]["Statement"]))
        raise LookupError(bucket)

    def key_arn(self, stack: str, prefix: str) -> str:
        """The ARN that stands for the key whose logical id starts with `prefix`."""
        resources = self._templates[stack]["Resources"]
        (key,) = [k for k, r in resources.items() if r["Type"] == "AWS::KMS::Key" and k.startswith(prefix)]
        return str(self._attribute(self._templates[stack], key, "Arn"))

    def _ref(self, template: Template, name: str) -> str:
        known = {"AWS::Partition": "aws", "AWS::AccountId": self._account, "AWS::Region": self._region,
                 "AWS::URLSuffix": "amazonaws.com"}  # fmt: skip
        if name in known:
            return known[name]
        properties = template["Resources"][name]["Properties"]
        for given in ("BucketName", "FunctionName", "TableName", "QueueName", "LogGroupName"):
            if given in properties:
                return str(properties[given])
        return f"<{name}>"

    def _attribute(self, template: Template, name: str, attribute: str) -> str:
        found = template["Resources"][name]
        own = self._ref(template, name)
        at = f"{self._region}:{self._account}"
        forms = {
            "AWS::S3::Bucket": f"arn:aws:s3:::{own}",
            "AWS::KMS::Key": f"arn:aws:kms:{at}:key/{name}",
            "AWS::DynamoDB::Table": f"arn:aws:dynamodb:{at}:table/{own}",
            "AWS::Lambda::Function": f"arn:aws:lambda:{at}:function:{own}",
            "AWS::Logs::LogGroup": f"arn:aws:logs:{at}:log-group:{own}:*",
            "AWS::SQS::Queue": f"arn:aws:sqs:{at}:{own}",
        }
        return forms[found["Type"]] if attribute == "Arn" and found["Type"] in forms else f"<{name}.{attribute}>"


def decide(
    statements: list[dict[str, Any]],
    action: str,
    resource: str,
    context: Mapping[str, str] | None = None,
    *,
    principal: Mapping[str, str] | None = None,
) -> str:
    """Allow, Deny (explicit) or none. `principal`, for a resource's policy: {"AWS": arn} or {"Service": name}."""
    given = {key.lower(): value for key, value in (context or {}).items()}
    answer = "none"
    for statement in statements:
        if principal is not None and not _is_named(statement.get("Principal"), principal):
            continue
        if not _any(statement, "Action", action, fold=True) or not _any(statement, "Resource", resource):
            continue
        if not all(_holds(op, keys, given) for op, keys in statement.get("Condition", {}).items()):
            continue
        if statement["Effect"] == "Deny":
            return "Deny"
        answer = "Allow"
    return answer


def _is_named(element: Any, principal: Mapping[str, str]) -> bool:
    if element == "*":
        return True
    for kind, names in (element or {}).items():
        names = names if isinstance(names, list) else [names]
        if kind in principal and any(name in ("*", principal[kind]) for name in names):
            return True
    return False


def _any(statement: Mapping[str, Any], element: str, value: str, *, fold: bool = False) -> bool:
    if element in statement:
        found = statement[element]
        return any(matches(p, value, fold=fold) for p in (found if isinstance(found, list) else [found]))
    found = statement.get(f"Not{element}")
    assert found is not None, f"a statement without {element}"
    return not any(matches(p, value, fold=fold) for p in (found if isinstance(found, list) else [found]))


def matches(pattern: str, value: str, *, fold: bool = False) -> bool:
    """IAM's wildcards: `*` any characters, `?` one."""
    expression = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch(expression, value, re.IGNORECASE | re.DOTALL if fold else re.DOTALL) is not None


def _holds(operator: str, keys: Mapping[str, Any], given: Mapping[str, str]) -> bool:
    for key, expected in keys.items():
        wanted = [str(e) for e in (expected if isinstance(expected, list) else [expected])]
        actual = given.get(key.lower())
        if operator == "Null":
            ok = (actual is None) == (wanted[0] == "true")
        elif operator in ("StringNotEquals", "StringNotLike", "ArnNotEquals"):
            ok = actual is None or not any(_same(operator, w, actual) for w in wanted)
        elif operator == "NumericLessThan":
            ok = actual is not None and float(actual) < float(wanted[0])
        elif operator in ("StringEquals", "StringLike", "ArnEquals", "ArnLike", "Bool"):
            ok = actual is not None and any(_same(operator, w, actual) for w in wanted)
        else:
            raise NotImplementedError(operator)
        if not ok:
            return False
    return True


def _same(operator: str, wanted: str, actual: str) -> bool:
    if "Like" in operator or operator.startswith("Arn"):
        return matches(wanted, actual)
    return wanted.lower() == actual.lower() if operator == "Bool" else wanted == actual
