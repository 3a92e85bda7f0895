# narwhal: how it is built, tested, installed.
#
#	make			the programs, under build/
#	make KIND=asan test	the same tests under the sanitizers
#
# Each KIND has a folder of its own, so switching between them rebuilds nothing.

KIND	?= release
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
PYTHON	?= python3
CC	?= cc
ifeq ($(origin CC),default)
CC	= gcc
endif

VERSION	= 0.1.0

ifeq ($(KIND),release)
OUT	= build
CFLAGS	?= -O2 -g
else
OUT	= build/$(KIND)
endif
ifeq ($(KIND),asan)
CFLAGS	?= -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
endif
ifeq ($(KIND),tsan)
CFLAGS	?= -O1 -g -fsanitize=thread
endif
ifeq ($(KIND),fuzz)
CC	= clang
CFLAGS	?= -O1 -g -fsanitize=address,undefined,fuzzer-no-link \
	-fno-sanitize-recover=all
endif
OBJ	= $(OUT)/obj

WARN	= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef $(WERROR)
CPPFLAGS += -D_GNU_SOURCE -Isrc -Isrc/include \
	-DNW_VERSION='"$(VERSION)"' -DNW_LIBDIR='"$(LIBDIR)/narwhal"'
COMPILE	= $(CC) -std=gnu11 $(CFLAGS) $(WARN) $(CPPFLAGS) -MMD -MP -pthread

# What depends on packages is only evaluated inside recipes, when `make deps`
# of the same call has put them there.
PY	= $$(scripts/python-config $(PYTHON)
PY_CFLAGS = $(PY) --cflags)
PY_LIBS	= $(PY) --libs)
LIBS	= -lhttp_parser -linih -ldl -lm

FOLDERS	= base http conf proc worker master
SRC	= $(foreach d,$(FOLDERS),$(sort $(wildcard src/$d/*.c)))
OBJS	= $(SRC:src/%.c=$(OBJ)/%.o)
LIB	= $(OBJ)/libnarwhal.a
APPS	= $(patsubst src/apps/%.c,$(OUT)/%.so,$(wildcard src/apps/*.c))
WSGI	= $(patsubst %.c,$(OBJ)/%.o,$(patsubst src/%,%,$(wildcard src/wsgi/*.c)))

all: $(OUT)/narwhal $(APPS) $(OUT)/wsgi.so $(OUT)/narwhal-tune

$(OUT)/narwhal: $(OBJ)/main.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -rdynamic -o $@ $^ $(LIBS)

# An archive, so that a test takes from it only what it needs.
$(LIB): $(OBJS)
	@rm -f $@
	$(AR) rcs $@ $(OBJS)

$(OBJ)/%.o: src/%.c
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

# Applications see the public header only.
$(OUT)/%.so: src/apps/%.c
	@mkdir -p $(@D) $(OBJ)/apps
	$(COMPILE) -MF $(OBJ)/apps/$*.d -fPIC $(LDFLAGS) -shared \
		-fvisibility=hidden -o $@ $<

# Another PYTHON makes other objects.
$(OBJ)/wsgi/python: FORCE
	@mkdir -p $(@D)
	@echo '$(PYTHON)' | cmp -s - $@ || echo '$(PYTHON)' >$@

$(OBJ)/wsgi/%.o: src/wsgi/%.c $(OBJ)/wsgi/python
	@mkdir -p $(@D)
	$(COMPILE) $(PY_CFLAGS) -DNW_PYTHON="\"$(PY) --executable)\"" \
		-fPIC -fvisibility=hidden -c -o $@ $<

$(OUT)/wsgi.so: $(WSGI)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -shared -o $@ $^ $(PY_LIBS)

# One file that can be installed anywhere.
$(OUT)/narwhal-tune: scripts/narwhal-tune $(wildcard scripts/tune/*.py)
	@rm -rf $(OBJ)/tune && mkdir -p $(OBJ)/tune/tune
	@cp scripts/tune/*.py $(OBJ)/tune/tune
	@cp scripts/narwhal-tune $(OBJ)/tune/__main__.py
	@[ -z "$$SOURCE_DATE_EPOCH" ] || \
		find $(OBJ)/tune -exec touch -d "@$$SOURCE_DATE_EPOCH" {} +
	/usr/bin/python3 -m zipapp -p /usr/bin/python3 -o $@ $(OBJ)/tune

# Where to look for applications is compiled in: LIBDIR.
$(OBJ)/libdir: FORCE
	@mkdir -p $(@D)
	@echo '$(LIBDIR)' | cmp -s - $@ || echo '$(LIBDIR)' >$@

$(OBJ)/worker/app.o: $(OBJ)/libdir

run: all
	@$(OUT)/narwhal -c conf/narwhal.ini

# ---- installation ----

# What names places is made for the places of this installation.
PLACED	= conf/narwhal.service conf/narwhal.socket conf/narwhal.pc \
	conf/narwhal.bash
UNITDIR	?= $(PREFIX)/lib/systemd/system

$(OUT)/narwhal.%: conf/narwhal.% FORCE
	@mkdir -p $(@D)
	@sed -e 's|/usr/local/lib|$(LIBDIR)|; s|/usr/local|$(PREFIX)|' \
		-e 's|@VERSION@|$(VERSION)|' $< >$@

$(OUT)/completion/narwhal: conf/narwhal.bash
	@mkdir -p $(@D)
	@cp $< $@

# MODE FILE FOLDER for each file that is installed, and the names of all.
define INSTALLED
755 $(OUT)/narwhal $(PREFIX)/bin
755 $(OUT)/narwhal-tune $(PREFIX)/bin
$(foreach f,$(OUT)/wsgi.so $(APPS),755 $f $(LIBDIR)/narwhal
)644 src/include/narwhal/app.h $(PREFIX)/include/narwhal
$(foreach f,$(wildcard man/*.[1-9]),644 $f \
	$(PREFIX)/share/man/man$(patsubst .%,%,$(suffix $f))
)$(foreach f,$(filter-out $(PLACED),$(wildcard conf/*)),644 $f \
	$(PREFIX)/share/doc/narwhal
)644 $(OUT)/narwhal.service $(UNITDIR)
644 $(OUT)/narwhal.socket $(UNITDIR)
644 $(OUT)/narwhal.pc $(LIBDIR)/pkgconfig
644 $(OUT)/completion/narwhal $(PREFIX)/share/bash-completion/completions
endef
export INSTALLED

# By rename: what runs keeps its file, and nobody ever sees half of one.
install: all $(OUT)/narwhal.service $(OUT)/narwhal.socket $(OUT)/narwhal.pc \
		$(OUT)/completion/narwhal
	@echo "$$INSTALLED" | while read -r mode file folder; do \
		[ -n "$$file" ] || continue; \
		to="$(DESTDIR)$$folder/$${file##*/}"; \
		install -d "$(DESTDIR)$$folder" && \
		install -m $$mode "$$file" "$$to.new" && \
		mv -f "$$to.new" "$$to" || exit 1; \
		echo "$$to"; \
	done

uninstall:
	@echo "$$INSTALLED" | while read -r mode file folder; do \
		[ -z "$$file" ] || rm -f "$(DESTDIR)$$folder/$${file##*/}"; \
	done
	@rmdir "$(DESTDIR)$(LIBDIR)/narwhal" \
		"$(DESTDIR)$(PREFIX)/include/narwhal" \
		"$(DESTDIR)$(PREFIX)/share/doc/narwhal" 2>/dev/null || true

# build/narwhal_VERSION_ARCH.deb, whatever the KIND.
deb:
	scripts/deb/build $(VERSION)

# ---- tests ----

TEST_SRC = $(sort $(wildcard tests/unit/*.c))
SUITES	= $(patsubst tests/unit/test_%.c,%,$(filter tests/unit/test_%,$(TEST_SRC)))
PROC_SRC = $(sort $(wildcard tests/process/*.c))
PROC_SUITES = $(patsubst tests/process/test_%.c,%, \
	$(filter tests/process/test_%,$(PROC_SRC)))
TEST_APPS = $(patsubst tests/apps/%.c,$(OUT)/tests/%.so,$(wildcard tests/apps/*.c))
TEST_APPS += $(OUT)/tests/man-example.so
TEST_TOOLS = $(patsubst tests/tools/%.c,$(OUT)/tests/%,$(wildcard tests/tools/*.c))
FUZZ	= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY	= $(FUZZ:%=$(OUT)/tests/replay_%)
RFC_SRC	= $(sort $(wildcard tests/rfc/*.c)) tests/apps/witness.c
RFC	= $(OBJ)/tests/librfc.a

# suites.h lists the suites that the files define: X(name) each.
$(OBJ)/tests/%/suites.h: Makefile FORCE
	@mkdir -p $(@D)
	@for f in tests/$*/test_*.c; do n=$${f##*/test_}; \
		echo "X($${n%.c})"; done >$@.new
	@cmp -s $@.new $@ || mv $@.new $@

$(OBJ)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(COMPILE) -Itests -I$(@D) -DNW_BUILD='"$(CURDIR)/$(OUT)"' \
		-DNW_SOURCE='"$(CURDIR)"' -c -o $@ $<

$(OBJ)/tests/unit/main.o: $(OBJ)/tests/unit/suites.h
$(OBJ)/tests/process/main.o: $(OBJ)/tests/process/suites.h

# Beside applications that are loaded, this one has a name of its own.
$(OBJ)/tests/apps/witness.o: CPPFLAGS += -Dnarwhal_app=witness_app

# The second reader of requests, and what it is held against.
$(RFC): $(RFC_SRC:%.c=$(OBJ)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(OUT)/tests/unit: $(TEST_SRC:%.c=$(OBJ)/%.o) $(RFC) $(LIB) | $(TEST_APPS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -rdynamic -o $@ $^ \
		$$(pkg-config --libs check) $(LIBS)

$(OUT)/tests/process: $(PROC_SRC:%.c=$(OBJ)/%.o) $(RFC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ \
		$$(pkg-config --libs check) -ldl

$(OUT)/tests/%.so: tests/apps/%.c
	@mkdir -p $(@D) $(OBJ)/tests/apps
	$(COMPILE) -MF $(OBJ)/tests/apps/$*.d -fPIC -shared \
		-fvisibility=hidden -o $@ $<

# The program in narwhal-app(3) is an application of the tests too.
$(OUT)/tests/man-example.so: man/narwhal-app.3 scripts/man-example
	@mkdir -p $(@D) $(OBJ)/tests
	scripts/man-example $< >$(OBJ)/tests/man-example.c
	$(COMPILE) -MF $(OBJ)/tests/man-example.d -fPIC -shared \
		-fvisibility=hidden -o $@ $(OBJ)/tests/man-example.c

$(OUT)/tests/reader: tests/tools/reader.c $(RFC)
	@mkdir -p $(@D) $(OBJ)/tests/tools
	$(COMPILE) -Itests -MF $(OBJ)/tests/tools/reader.d -o $@ $< $(RFC) $(LDFLAGS)

$(OUT)/tests/%: tests/tools/%.c
	@mkdir -p $(@D) $(OBJ)/tests/tools
	$(COMPILE) -MF $(OBJ)/tests/tools/$*.d -o $@ $< $(LDFLAGS)

# The fuzz targets without libFuzzer, to run corpus and crashers again.
$(OUT)/tests/replay_%: $(OBJ)/tests/fuzz/fuzz_%.o $(OBJ)/tests/fuzz/replay.o \
		$(RFC) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ $(LIBS)

# Whatever the KIND, what two threads share runs under the thread sanitizer.
RACES	= tests/unit/main.c tests/unit/test_flusher.c src/worker/flusher.c \
	src/worker/queue.c src/http/chunk.c src/http/strict.c \
	$(patsubst %,src/base/%.c,buf clock fd io log str)

$(OUT)/tests/races: $(RACES) $(wildcard src/base/*.h src/http/*.h src/worker/*.h)
	@mkdir -p $(OBJ)/tests/races
	@echo 'X(flusher)' >$(OBJ)/tests/races/suites.h
	$(CC) -std=gnu11 -O1 -g -fsanitize=thread $(WARN) $(CPPFLAGS) -pthread \
		-I$(OBJ)/tests/races -o $@ $(RACES) \
		$$(pkg-config --libs check)

tests: all $(OUT)/tests/unit $(OUT)/tests/process $(OUT)/tests/races $(REPLAY) \
	$(TEST_APPS) $(TEST_TOOLS)

test: tests
	KIND=$(KIND) OUT=$(OUT) CONFORMANCE="$(CONFORMANCE)" scripts/test

# The package is the same for every KIND: once will do.
ifeq ($(KIND),release)
test: deb
endif

# Minutes under load; SEED=N repeats what was done to the server.
soak: all $(OUT)/tests/process $(TEST_APPS)
	SOAK=1 SEED=$${SEED:-$$(date +%s)} CK_RUN_SUITE=soak \
		timeout 1200 $(OUT)/tests/process
	SOAK=1 CK_RUN_SUITE=proxies CK_RUN_CASE=reload \
		timeout 600 $(OUT)/tests/process

unit: $(OUT)/tests/unit
	$(OUT)/tests/unit

lint:
	scripts/lint

# Fuzzers: `make KIND=fuzz fuzzers`, then build/fuzz/fuzz_head -max_total_time=120
fuzzers: $(FUZZ:%=$(OUT)/fuzz_%)

$(OUT)/fuzz_%: tests/fuzz/fuzz_%.c $(RFC) $(LIB)
	@mkdir -p $(OBJ)/tests/fuzz
	$(COMPILE) -Itests -MF $(OBJ)/tests/fuzz/$*.d -fsanitize=fuzzer \
		-o $@ $< $(RFC) $(LIB) $(LIBS)

# ---- benchmarks ----

BENCH_TOOLS = $(OUT)/tests/floor $(OUT)/tests/drive

# BENCH=quick takes under two minutes, else it is under ten.
bench: all $(BENCH_TOOLS)
	BENCH=$(BENCH) scripts/bench

# Instructions a request takes, beside those in tests/bench/instructions.
bench-instructions: all
	PYTHON=$(PYTHON) scripts/bench-instructions

# ---- packages ----

deps:
	scripts/deps $(filter test soak lint bench tests unit fuzzers bench-instructions deb, \
		$(MAKECMDGOALS))

# With -j too, `make deps run` installs before it compiles.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(OBJS) $(WSGI) $(OBJ)/main.o $(APPS) $(OUT)/narwhal-tune $(TEST_SRC:%.c=$(OBJ)/%.o) \
	$(PROC_SRC:%.c=$(OBJ)/%.o) $(FUZZ:%=$(OBJ)/tests/fuzz/fuzz_%.o) \
	$(OBJ)/tests/fuzz/replay.o $(RFC_SRC:%.c=$(OBJ)/%.o) $(TEST_APPS) $(TEST_TOOLS) $(OUT)/tests/races: | deps
lint bench bench-instructions deb: | deps
endif

clean:
	rm -rf build

FORCE:
.PHONY: all run install uninstall deb test tests soak unit lint fuzzers bench bench-instructions deps clean FORCE
.SECONDARY:

-include $(OBJS:.o=.d) $(WSGI:.o=.d) $(OBJ)/main.d $(wildcard $(OBJ)/apps/*.d \
	$(OBJ)/tests/*/*.d)
