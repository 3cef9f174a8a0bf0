"""The sandbox: runs the code of ONE release, for the platform, where no other tenant can reach it.

Untrusted room. Everything here lives in the same process as the tenant's code, so nothing here is a border: the
borders are drawn outside, by AWS Lambda's tenant isolation mode or by `tenantry_registry.process_runner`. What this
package owes is exactness: the right code is loaded in the right order, one reply comes back for each event, and the
reply fits.

    worker.main          on one machine: events and replies as frames over one inherited socket
    on_lambda.handler    on AWS: one event, one reply
      environment        one release per process: verify, load once, then describe or call
        unpack           the bundle's bytes -> a folder (on AWS; on one machine the runner has unpacked it)
        entrypoint       "module:object" or "script.py" -> an object
        scripts          a script that calls .run() under __main__ -> the server it would have run
        kit | servers    the object -> something that describes itself and takes calls
        asgi, asking     a server that speaks MCP over ASGI, asked and called in process
        session          what a call may use: secrets, notifications, uploads, its scratch folder
        output           stdout and stderr at the level of file descriptors
        masks            what must not be told

Standard library only, and nothing of it is imported that a bundle may wish to bring itself: the kit, pydantic and
`mcp` are found like any dependency of the bundle. Protocol 1 is written down in `tenantry_registry.runners`.
"""

PROTOCOL = 1
