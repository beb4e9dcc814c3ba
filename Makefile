# Everything a reader, a student or a maintainer does with this repository, by name.
# `make` alone lists the targets.

PYTHON ?= python3
BIN    := .venv/bin
PY     := $(BIN)/python
READY  := .venv/.installed
PYTEST := $(PY) -m pytest

# The models are small: one thread each, two processes side by side, is the fastest way.
export OMP_NUM_THREADS := 1
# The same bytes on every machine: no bar that redraws itself in the logs or in a stored output.
CHECKED := ATTNBOOK_PROGRESS=0 PYTHONHASHSEED=0

# VARIANTS=off: the same numbers for all students.
SAME_NUMBERS := $(if $(filter off,$(VARIANTS)),--same-numbers)

.PHONY: help book test fast lint unit chapters alone site-tests lab execute data train bench picture pdf zip course grade clean

help:                ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

book: $(READY)       ## build the site into _build/html
	@$(PY) tools/build_site.py

test: lint unit chapters book site-tests   ## everything that must hold before a change is merged

fast: lint           ## the unit tests only, under a minute
	@$(CHECKED) $(PYTEST) -n 2 -m "not slow" --ignore=tests/site

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

unit: $(READY)
	@$(CHECKED) $(PYTEST) -n 2 --ignore=tests/site

# Re-runs each chapter in an empty folder and compares every output with the stored one. The order
# of sets is another than in `make execute`, so that no output depends on it.
chapters: alone
	@$(CHECKED) PYTHONHASHSEED=1 $(PYTEST) --nbval --nbval-current-env --nbval-cell-timeout=600 \
		-p no:cacheprovider -n 2 --dist loadfile build/alone
	@$(PY) tools/alone.py --left

alone: $(READY)
	@$(PY) tools/alone.py

site-tests: book     # the built site is what it looks at, under `make -j` too
	@$(CHECKED) $(PYTEST) -n 2 tests/site

lab: $(READY)        ## open the chapters in JupyterLab
	@$(BIN)/jupyter lab --notebook-dir=book

execute: $(READY)    ## re-run the chapters and store their outputs (one: make execute CHAPTER=04_self_attention)
	@$(CHECKED) $(PY) tools/execute.py $(CHAPTER)

data: $(READY)       ## fetch every data set into the cache
	@$(PY) -m attnbook.data

train: $(READY)      ## do the longer trainings again, hours in all (one: make train NAME=gpt_shakespeare)
	@$(CHECKED) $(PY) -m attnbook.trained $(NAME)

bench: $(READY)      ## time the library against torch and transformers; about ten minutes
	@$(PY) tools/bench.py

picture: book        ## take the README's picture of a page
	@$(PY) tools/picture.py

pdf: book            ## print the whole book as one PDF into build/download
	@$(PY) tools/pdf.py

zip: book            ## pack the site into a zip in build/download, to be read without a network
	@$(PY) tools/offline_zip.py

course: $(READY)     ## make the assignments: students' copies, zips, the instructor's folder (VARIANTS=off)
	@$(PY) -m course.release $(SAME_NUMBERS)

grade: $(READY)      ## grade a folder: make grade SUBMISSIONS=folder [ASSIGNMENT=01_attention] [VARIANTS=off]
	@$(if $(SUBMISSIONS),,echo "Say which folder: make grade SUBMISSIONS=folder" >&2; exit 2)
	@$(PY) -m course.grading "$(SUBMISSIONS)" $(SAME_NUMBERS) $(if $(AGAIN),--again) \
		$(if $(ASSIGNMENT),--assignment $(ASSIGNMENT))

clean:               ## remove the environment and everything that was built
	rm -rf .venv _build build .pytest_cache .ruff_cache .hypothesis lib/*.egg-info

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else \
		"Python 3.11 or newer is needed; %s is %s. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" % \
		(sys.executable, sys.version.split()[0]))'
	@test -x $(PY) || $(PYTHON) -m venv .venv || { rm -rf .venv; \
		echo "No environment could be made: see above. On Debian and Ubuntu: apt install python3-venv"; \
		exit 1; }
	@echo "Installing into .venv (some minutes the first time) ..."
	@$(PY) -m pip install --quiet -r requirements.txt -e .
	@touch $@
