raise SystemExit("not like this")
