"""Deploying to AWS from the command line: `platform deploy`, `platform destroy`, `platform doctor`.

The templates are infra's, and infra is never imported: it is started as a process, as the CDK's own command line is.

    toolkit.py     starts infra's builder and app, the CDK CLI and the comparison of templates
    account.py     what the AWS account says: identity, bootstrap, outputs, templates, zones, quotas
    checks.py      what must hold before anything is touched, each with its cure
    plan.py        what a deployment would add, change, replace and destroy, and what a month costs
    deployment.py  plan, ask, deploy, smoke-test, record; and back again
    smoke.py       uses what was deployed as a client would
    record.py      .platform/STAGE.json: what stands where
"""
