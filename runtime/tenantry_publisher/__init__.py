"""The publisher: a half-trusted worker that turns an uploaded bundle into a release.

It unpacks hostile zips and asks tenant code what it is (through the Runner, never in this process), checks, compiles
and puts. It has no right on tokens, tenants and secrets. `publish.publish` is the whole pipeline, used by the Lambda
(`on_lambda.handler`), by `platform publish` and by `platform dev`.
"""
