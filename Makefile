# A thin front: CMake does the work. `make run` and `make test` need nothing but a Debian 12 and root (or sudo).
PREFIX ?= /usr/local

packages := g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev \
            libgtest-dev libbenchmark-dev libboost-dev libhwy-dev libdw-dev openmpi-bin libopenmpi-dev
test_packages := mpich libmpich-dev libfftw3-dev gfortran iproute2 ethtool chromium
long_packages := clang clang-format clang-tidy

.PHONY: build run test test-long bench lint install clean

build:
	@tools/install-packages $(packages)
	@tools/build release
	@if command -v mpicc.mpich >/dev/null; then tools/build mpich rubato_preload; fi

run: build
	@tools/first-minute

test: build
	@tools/install-packages $(test_packages)
	@tools/test short

test-long: build
	@tools/install-packages $(test_packages) $(long_packages)
	@tools/test long

bench: build
	@tools/bench

lint: build
	@tools/install-packages $(long_packages)
	@tools/lint

install: build
	@cmake --install build --prefix $(PREFIX)
	@if [ -d build/presets/mpich/preload ]; then \
	    cmake --install build/presets/mpich --component preload --prefix $(PREFIX); fi

clean:
	@rm -rf build
