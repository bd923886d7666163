#!/bin/sh
# Builds the release binaries for Linux into prebuilds/, as node-gyp-build looks for them, in a copy of the sources: the
# working build stays. `npm run prebuild:linux` builds all four, `npm run prebuild:linux -- x64-glibc` the named ones:
#   x64-glibc    g++ binutils
#   arm64-glibc  g++-aarch64-linux-gnu
#   x64-musl     musl-dev
#   arm64-musl   g++-aarch64-linux-gnu, and musl-dev of arm64, which is fetched by apt and unpacked
# On x64 with Debian, through npm: only then does node-gyp learn of headers that are here already.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r native scripts binding.gyp package.json "$work"
ln -s "$top/node_modules" "$work/node_modules"

# name arch libc: one file, by the compilers in the environment.
build() {
  echo "> $1"
  (
    cd "$work"
    GYP_DEFINES=release=1 PREBUILD_LIBC=$3 node_modules/.bin/prebuildify \
      --napi --strip --tag-libc --arch "$2" --out "$top" >"$1.log" 2>&1
  ) || {
    cat "$work/$1.log" >&2
    exit 1
  }
}

for_arm64() {
  # Without outlined atomics: their run-time probe, __getauxval, is not in musl, and is young in glibc.
  CC=aarch64-linux-gnu-gcc CXX=${CXX:-aarch64-linux-gnu-g++} LINK=${LINK:-aarch64-linux-gnu-g++} \
    AR=aarch64-linux-gnu-ar CFLAGS=-mno-outline-atomics CXXFLAGS=-mno-outline-atomics \
    PREBUILD_STRIP_BIN=aarch64-linux-gnu-strip "$@"
}

# folder of linux and asm-generic, folder of asm, command…
for_musl() {
  mkdir -p "$work/kernel"
  ln -sfn "$1/linux" "$work/kernel/linux"
  ln -sfn "$1/asm-generic" "$work/kernel/asm-generic"
  ln -sfn "$2/asm" "$work/kernel/asm"
  shift 2
  MUSL_KERNEL=$work/kernel CXX=$work/scripts/musl-cxx.sh LINK=$work/scripts/musl-cxx.sh "$@"
}

fetch_musl_arm64() {
  mkdir -p "$work/apt/partial" "$work/musl-arm64"
  options="-oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oAPT::Sandbox::User=root -oDir::State::Lists=$work/apt"
  apt-get $options update -qq
  (cd "$work/apt" && apt-get $options download -qq musl musl-dev)
  for package in "$work"/apt/*.deb; do dpkg -x "$package" "$work/musl-arm64"; done
}

[ $# -gt 0 ] || set -- x64-glibc arm64-glibc x64-musl arm64-musl
for name in "$@"; do
  case $name in
    x64-glibc) build "$name" x64 glibc ;;
    arm64-glibc) for_arm64 build "$name" arm64 glibc ;;
    x64-musl) for_musl /usr/include /usr/include/x86_64-linux-gnu build "$name" x64 musl ;;
    arm64-musl)
      fetch_musl_arm64
      headers=/usr/aarch64-linux-gnu/include
      MUSL_ARCH=arm64 MUSL_ROOT=$work/musl-arm64 for_musl $headers $headers for_arm64 build "$name" arm64 musl
      ;;
    *)
      echo "prebuild-linux: no build is called $name" >&2
      exit 2
      ;;
  esac
  node scripts/check-binary.mjs "prebuilds/linux-${name%-*}/exactspawn.${name#*-}.node"
done
ls -l prebuilds/linux-*/*.node
