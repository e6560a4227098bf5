# Two commands for a newcomer: `make demo` runs the main job, `make test` passes the tests. Each makes its own
# virtual environment (.venv) and installs what it needs; only Python 3.11+, git and make are needed before.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
RUN    := $(BIN)/python -W error

.PHONY: demo test search check format golden bench docs clean

demo: $(VENV)/.base
	@$(BIN)/iamata demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadscope

search: $(VENV)/.dev
	HYPOTHESIS_PROFILE=new $(BIN)/pytest -n 2 --dist loadscope

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m docs.generate --check

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev
	$(BIN)/python -m docs.generate

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

$(VENV)/.base: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -e $@ -a $@ -nt pyproject.toml || (echo "Installing iamata into $(VENV) (once) …" && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . && touch $@)

$(VENV)/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing iamata and its test tools into $(VENV) (once) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.base $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
