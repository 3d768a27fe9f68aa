# The commands of this project. More flags: make test TESTFLAGS="-race -run TestStore"
TESTFLAGS  ?=
BENCHFLAGS ?= -benchmem
FUZZTIME   ?= 5s

.PHONY: help build test bench fuzz lint modules schema clean

help:
	@echo 'make TARGET, such as:'
	@echo
	@echo '  make build                                build the program: ./syncd'
	@echo '  make test                                 all tests, with a PostgreSQL of their own'
	@echo '  make test TESTFLAGS="-race -run TestCSV"  more flags for go test'
	@echo '  make bench                                all benchmarks'
	@echo '  make bench BENCHFLAGS="-count=6"          more flags for go test -bench'
	@echo '  SYNCD_BENCH_RECORDS=1000000 make bench    the engine with a million records'
	@echo '  make fuzz FUZZTIME=1m                     every fuzz target, a minute each'
	@echo '  make lint                                 gofmt, go vet, staticcheck'
	@echo '  make modules                              go.mod is tidy and its pins hold'
	@echo '  make schema                               write the JSON Schemas in schema/'
	@echo '  make clean                                remove what was built'

build:
	CGO_ENABLED=0 go build -trimpath -o syncd ./cmd/syncd

test:
	@scripts/test.sh $(TESTFLAGS)

# One package after the other, so that they do not measure each other.
bench:
	@scripts/test.sh -p 1 -run '^$$' -bench . $(BENCHFLAGS)

fuzz:
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

lint:
	@scripts/lint.sh

modules:
	@scripts/modules.sh

schema:
	go run ./cmd/syncd schema > schema/.new && mv schema/.new schema/syncd.schema.json
	go run ./cmd/syncd schema --provider > schema/.new && mv schema/.new schema/provider.schema.json

clean:
	rm -rf syncd .bin
