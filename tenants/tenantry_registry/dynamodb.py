"""One DynamoDB table, by botocore: items under `pk` and `sk`, forgotten at `expires` (seconds since the epoch).

botocore is imported and connected at the first use: nothing of it exists before a snapshot, and who needs no table does
not pay for it. Calls run in threads, since botocore blocks.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from tenantry_registry.errors import StorageDown

CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 1, 2, 3  # a table answers in milliseconds; a call must not wait for it long


class Missed(Exception):
    """The condition did not hold. `item` is what stands there, None when nothing does."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        super().__init__("the condition did not hold")
        self.item = item


class Table:
    """The table `name`. `endpoint` for anything that is not AWS itself; credentials are botocore's own.

    `patience`: seconds that one attempt may take.
    """

    def __init__(
        self, name: str, *, region: str | None = None, endpoint: str | None = None, patience: float = READ_SECONDS
    ) -> None:
        self.name, self._region, self._endpoint, self._patience = name, region, endpoint, patience
        self._lock = threading.Lock()
        self._client: Any = None

    async def update(self, pk: str, sk: str, expression: str, values: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """UpdateItem. `values` of the expression, by name, are whole numbers, strings or sets of strings; `more` is
        botocore's own. Returns the attributes that its `ReturnValues` asks for.

        Raises: Missed; StorageDown."""
        typed = {f":{name}": _typed(value) for name, value in values.items()}
        answer = await self.call(
            "update_item",
            Key={"pk": {"S": pk}, "sk": {"S": sk}},
            UpdateExpression=expression,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **({"ExpressionAttributeValues": typed} if typed else {}),
            **more,
        )
        attributes: dict[str, Any] = answer.get("Attributes", {})
        return attributes

    async def call(self, verb: str, **arguments: Any) -> Any:
        """One call of botocore's client on this table. Raises: Missed; StorageDown."""
        return await asyncio.to_thread(self._call, verb, arguments)

    def _call(self, verb: str, arguments: dict[str, Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return getattr(self._connected(), verb)(TableName=self.name, **arguments)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code == "ConditionalCheckFailedException":
                raise Missed(error.response.get("Item")) from None  # type: ignore[arg-type]
            raise StorageDown(f"The table of limits and usage refused {verb}: {code}.") from error
        except BotoCoreError as error:
            raise StorageDown(f"The table of limits and usage does not answer: {type(error).__name__}.") from error

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                from botocore.config import Config
                from botocore.session import get_session

                self._client = get_session().create_client(
                    "dynamodb",
                    region_name=self._region,
                    endpoint_url=self._endpoint,
                    config=Config(
                        connect_timeout=CONNECT_SECONDS,
                        read_timeout=self._patience,
                        retries={"max_attempts": ATTEMPTS, "mode": "standard"},
                    ),
                )
            return self._client

    def close(self) -> None:
        """Close the connections, if there are any."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, set):
        return {"SS": sorted(value)}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}
