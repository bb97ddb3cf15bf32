PYTHON ?= python3
PY := .venv/bin/python
WORKERS ?= 4
# Settings that need no store to answer: for checks which only import the project.
DRY := ENVIRONMENT=test SECRET_KEY=check-check-check-check-check-check-check-check-check \
	OTP_KEYS=1:check-check-check-check-check-check \
	DATABASE_URL=postgresql:///none REDIS_URL=redis://127.0.0.1:1
LIVE := ENVIRONMENT=production \
	SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(60))') \
	OTP_KEYS=1:$$($(PY) -c 'import secrets; print(secrets.token_hex(32))') \
	WEBHOOK_KEYS=1:$$($(PY) -c 'import secrets; print(secrets.token_hex(32))') \
	MFA_KEYS=1:$$($(PY) -c 'import secrets; print(secrets.token_hex(32))') \
	DATABASE_URL=postgresql:///none REDIS_URL=redis://127.0.0.1:1 \
	PUBLIC_URL=https://kvitok.example ALLOWED_HOSTS=kvitok.example
COMPILE := $(PY) -m uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-header $(ARGS)

.DEFAULT_GOAL := help
# Each of the many processes would compile every module again, the tests with their asserts rewritten.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help run test test-long collect coverage chaos drill soak replay mutants bench profile \
	growth examples screenshots check lint types migrations fmt lock deploy-tools client-tools judges \
	sbom clean base dev python

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Running and testing ---
run: base ## the whole service with demo data, PORT=8000 SIMULATOR_PORT=8001; Ctrl-C stops it
	@exec $(PY) -m config.local.supervisor
PYTEST = $(PY) -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
test: dev ## the tests, ARGS="-k name" and the like go to pytest; WORKERS=0: all in one process
	@exec $(PYTEST) $(or $(ARGS),-m 'not long')
test-long: dev client-tools ## the tests that `make test` skips, half an hour: outages under load, most pages, our tools
	@exec $(PYTEST) -m long
collect: dev ## prepare the tests: compile them and migrate their database, once for all processes of `make test`
	@mkdir -p var && $(PY) -m pytest --collect-only -qq >var/collect.log || { tail -n 40 var/collect.log; exit 1; }
coverage: dev ## quick tests with the modules that they cover too little; pages in var/coverage/html; ARGS="tests/otp"
	@$(PYTEST) --cov --cov-report html --cov-report json $(or $(ARGS),-m 'not slow and not long')
	@$(PY) -m tests.coverage_report $(if $(ARGS),,--check)
chaos: dev ## kill processes under load, then reconcile the books: ARGS="--seed 7 --sends 5000 --kills 20 --flush --months --payments --smart --short"
	@exec $(PY) -m tools.chaos $(ARGS)
drill: dev ## outage drills: stop one part under load and measure the loss: ARGS="redis|redis-replica|redis-failover|postgres|web|worker|beat|smpp|all --rate 15"
	@exec $(PY) -m tools.drills $(ARGS)
soak: dev ## an hour of steady load: do memory, connections and dead rows stay level? ARGS="--minutes 60 --rate 20 --json FILE"
	@exec $(PY) -m tools.soak $(ARGS)
replay: dev ## replay described populations through router and guard in virtual time: ARGS="--world FILE… --seeds 1-20 --json OUT", or --live 2000: through the running service too
	@exec $(PY) -m tools.replay $(ARGS)
mutants: dev ## mutation tests: remove each guard, a named test must then fail; ARGS="name …"
	@exec $(PY) -m tests.mutants $(ARGS)
bench: base ## performance budgets against baselines, 7 minutes; ARGS="--only verify,send --seconds 3 --rounds 4 --concurrency 1,16,64"
	@exec $(PY) -m tools.bench $(ARGS)
profile: base ## CPU time of one message by process, cause and statement, 3 minutes; ARGS="--messages 500 --rounds 3 --no-wait --json FILE"
	@exec $(PY) -m tools.bench.profile $(ARGS)
growth: base ## cost of statements, pages and jobs as the database grows: ARGS="--sizes 5000,100000,1000000,10000000 --only hot,page,job,export --json FILE"
	@exec $(PY) -m tools.growth $(ARGS)
examples: base ## run docs/examples in every installed language: ARGS="--install --only go,php --json FILE"
	@exec $(PY) -m tools.examples $(ARGS)
screenshots: dev ## retake docs/screenshots from the demo that `make run` shows in another terminal
	@exec $(PY) -m tests.browser.screenshots

# --- Keeping the code in order ---
check: lint types migrations ## format, lint, types, layers, wording, templates, migrations, deployment settings; -j 2: side by side
	@$(LIVE) $(PY) manage.py check --deploy --fail-level WARNING
lint: dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	.venv/bin/lint-imports
	$(PY) -m djlint --quiet --lint templates
	.venv/bin/typos
	$(PY) -m tools.wording
types: dev
	$(DRY) $(PY) -m mypy .
migrations: dev ## check that each model change has a migration, and that it blocks nobody
	$(DRY) DATABASE_URL= REDIS_URL= DJANGO_SETTINGS_MODULE=config.settings $(PY) -m config.local.embedded -- \
		sh -c '$(PY) manage.py makemigrations --check --dry-run && $(PY) -m tools.migration_lint'
fmt: dev ## format and fix what can be fixed
	@$(PY) -m ruff check --quiet --fix . ; $(PY) -m ruff format .
lock: dev ## pin requirements/*.in, ARGS=--upgrade to the newest
	@$(COMPILE) requirements/base.in -o requirements/base.txt && \
	$(COMPILE) requirements/otel.in -o requirements/otel.txt && \
	$(COMPILE) requirements/deploy.in -o requirements/deploy.txt && \
	$(COMPILE) requirements/dev.in -o requirements/dev.txt && \
	$(COMPILE) requirements/judges.in -o requirements/judges.txt
deploy-tools: python ## install the tools of `make sbom` and of the chart's tests into var/deploy-tools
	@$(PYTHON) -m venv var/deploy-tools && var/deploy-tools/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements/deploy.txt
client-tools: ## install the tools for tests of generated TypeScript clients into var/clients; does nothing without Node.js
	@! command -v npm >/dev/null || { mkdir -p var/clients && cp tests/stack/clients/package*.json var/clients && npm ci --silent --ignore-scripts --no-audit --no-fund --prefix var/clients; }
judges: dev ## conformance tests of /compat with vendors' clients and schemas, in var/judges; tests/judges lists files to add by hand
	@test -x var/judges/venv/bin/python || $(PYTHON) -m venv var/judges/venv
	@var/judges/venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/judges.txt
	@! command -v npm >/dev/null || { cp tests/judges/package.json var/judges && npm install --silent --ignore-scripts --no-audit --no-fund --prefix var/judges; }
	@exec $(PY) -m pytest -m long tests/judges $(ARGS)
sbom: deploy-tools ## write the image's bill of materials as CycloneDX into var/kvitok.cdx.json
	@var/deploy-tools/bin/cyclonedx-py requirements requirements/base.txt --pyproject pyproject.toml --output-reproducible --validate -o var/kvitok.cdx.json
clean: python ## remove .venv, var/ and caches; refuses while `make run` is running
	@$(PYTHON) -I config/local/checkout.py

# --- The environment and the translations: redone when their sources changed ---
base dev: python
	@$(PYTHON) -I config/local/bootstrap.py $@
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1 | head -n 1): install it, or name another: make PYTHON=python3.12 …" >&2; exit 1; }
