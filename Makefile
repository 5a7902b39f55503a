# conform: test the best Vulkan device of this machine; an error of make means a failure without a known cause.
# test: style, types, and the tests of the first tier, in less than ten minutes on two cores.
# test-all: the same with the slow tests (see tests/tiers.py); some need Chromium, zsh, fish and a C compiler.
# All set up what they need (.venv here, software drivers in the user's cache), without root.
#   make conform ARGS='--device lavapipe --filter "arithmetic.*"'
#   make docs                             after a change of a file that a page shows
#   make site                             the documentation as a site, in build/site
#   make bundle DRIVERS=swiftshader       (and COMPILERS=tint for WGSL) then, on a machine without network:
#   make conform OFFLINE=bundle

SHELL = /bin/sh
SUITABLE = import sys; sys.exit(sys.version_info < (3, 11))
PYTHON = $(shell for name in python3.13 python3.12 python3.11 python3; do \
	  if $$name -c '$(SUITABLE)' 2>/dev/null; then echo $$name; break; fi; done)
SETUP = $(if $(PYTHON),$(PYTHON),$(error vkgroup needs Python 3.11 or newer: install it \
	  (Debian, Ubuntu: sudo apt-get install python3), or name it: make PYTHON=/path/to/python3)) \
	  -m vkgroup.bootstrap
ARGS =
DRIVERS =
COMPILERS =
OFFLINE =

TIER = -m 'not slow'
# Each process of the tests takes up to 2 GB of memory.
PROCESSES = $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 2 ? 2 : n > 4 ? 4 : n)))

.PHONY: conform test types pytest test-all docs site bundle clean

conform:
	$(SETUP) $(if $(OFFLINE),--offline '$(OFFLINE)')
	.venv/bin/vkgroup conform --known --report $(ARGS)

test:
	$(SETUP) --test --no-driver
	.venv/bin/python tests/software_drivers.py
	.venv/bin/ruff check .
	$(MAKE) --jobs=2 types pytest

types:
	.venv/bin/mypy

pytest:
	.venv/bin/pytest -n $(PROCESSES) --dist worksteal $(TIER) $(ARGS)

test-all:
	$(MAKE) test TIER=

docs:
	$(SETUP) --no-driver --docs
	.venv/bin/python tests/documentation/included.py

site:
	$(SETUP) --no-driver --docs
	.venv/bin/mkdocs build --strict

bundle:
	$(SETUP) --no-driver
	.venv/bin/python -m vkgroup.bootstrap.making bundle $(DRIVERS) $(COMPILERS:%=compiler:%)

clean:
	rm -rf .venv bundle dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
