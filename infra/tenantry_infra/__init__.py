"""The platform on AWS, as code: what runs where, who may do what, and what goes into each function's zip.

The room is a CDK app in Python and the only place that imports aws_cdk. `platform deploy` starts it as a process
(`python -m tenantry_infra.app` under the CDK CLI) and never imports it.

    app.py           composition root: the stage's data and the CDK context in, four stacks out
    stages.py        what differs between prod, dev and local, as data
    storage.py       Storage: the bucket, two keys, two tables, the origin secret. Kept when everything else goes
    functions.py     Functions: five functions, each with its own role, and the HTTP API in front of two of them
    roles.py         the permissions, as a table of role, actions and key prefixes
    closed.py        the network without a way out that `egress = "none"` runs in
    edge.py          Edge: CloudFront, its functions (edge_functions/*.js), certificate, DNS, optional WAF
    watch.py         Watch: the dashboard, the alarms and the budget
    environments.py  each function's environment, written from its room's own settings class
    builder.py       deterministic zips of the functions, for Lambda or for this machine
    costs.py         dated prices, and what a month costs at a given traffic
    nag.py           every acknowledged finding of cdk-nag, with its reason

Nothing here is per tenant or per plugin: a tenant is objects in the bucket, so the templates are the same for one
plugin and for a hundred thousand.
"""
