"""The control plane: the API that tenants, operators and the command line talk to.

FastAPI on Mangum, short requests only: what takes minutes (publishing) is handed to the publisher and polled for.
`app.create_app` is the composition root of one process; `on_lambda` that of the function. Each noun of the API has a
file of its own with its routes; `access` decides who may, `problems` says refusals.
"""
