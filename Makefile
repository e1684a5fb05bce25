# `make run` and `make test` do all set-up first, under .local/. PORT, PYTHON, ENGINE and ARGS may be given.
PYTHON ?= python3
# Asked here, in words that every Python understands, since an old one could not even read the program.
NEW_ENOUGH = import sys; sys.version_info >= (3, 11) or sys.exit("error: Python 3.11 or newer is needed, \
	this is %d.%d. Install one and name it: make run PYTHON=python3.11" % sys.version_info[:2])

.PHONY: run test browser package check docs bars bench bench-peers calm engines fuzz matrix mutants shuffle soak stall supply
run test browser package check docs bars bench bench-peers calm engines fuzz matrix mutants shuffle soak stall supply:
	@$(PYTHON) -c '$(NEW_ENOUGH)'
	@$(PYTHON) -m project.commands.bootstrap $@ $(ARGS)
