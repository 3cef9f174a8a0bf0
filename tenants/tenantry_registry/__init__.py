"""The domain: what a tenant, a plugin, a bundle, a release and a widget are, and how they are kept.

One noun a file. Everything remote stands behind one of three small ports, declared beside the errors it raises:
`objects.Objects` (bytes by key), `runners.Runner` (tenant code) and `limits.Limiter`. Nothing here knows HTTP, MCP
transports or the command line.
"""
