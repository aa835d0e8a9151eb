# A thin front: CMake does the work. All of this needs nothing but a Debian 12 and root (or sudo); docs/install.md tells how
# to do without.
PREFIX ?= /usr/local

packages := g++ cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev libdw-dev openmpi-bin libopenmpi-dev \
            libopen-trace-format2-dev
build_packages := libgtest-dev libbenchmark-dev libboost-dev libhwy-dev
test_packages := pkg-config mpich libmpich-dev libfftw3-dev libbz2-dev gfortran iproute2 nftables ethtool chromium otf2-tools \
                 protobuf-compiler
referees := libsimgrid-dev
long_packages := clang clang-format clang-tidy

.PHONY: build run test test-long test-builds bench lint install clean

build:
	@tools/install-packages $(packages) $(build_packages)
	@tools/build release
	@tools/build release benchmarks
	@if command -v mpicc.mpich >/dev/null; then tools/build mpich rubato_preload; fi

run:
	@tools/install-packages $(packages)
	@tools/build release rubato_command
	@tools/first-minute

test:
	@tools/install-packages $(packages) $(build_packages) $(test_packages)
	@tools/test short

test-long: build
	@tools/install-packages $(test_packages) $(referees)
	@tools/test long

test-builds:
	@tools/install-packages $(packages) $(build_packages) $(test_packages) $(long_packages)
	@tools/test builds

bench: build
	@tools/bench

lint: build
	@tools/install-packages $(long_packages)
	@tools/lint

# Where there is an MPICH too, also what is for programs with it.
install:
	@tools/install-packages $(packages)
	@tools/build release rubato_command rubato_preload
	@cmake --install build --prefix $(PREFIX)
	@if command -v mpicc.mpich >/dev/null; then \
	    tools/build mpich rubato_preload && cmake --install build/presets/mpich --prefix $(PREFIX); fi

clean:
	@rm -rf build
