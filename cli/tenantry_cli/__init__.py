"""The command line: `platform`.

One command, one file below commands/; a command is options and a few lines. What they share is one noun a file here:
folder.py (a plugin's folder), machine.py (everything that serves on this machine, composed once), watch.py (publish
again on a saved change), client.py (the official MCP client, with *.localhost led to loopback), scaffold.py and
adopt.py (what `init` writes), output.py (the terminal). main.py words every refusal.
"""
