#!/bin/sh
# A C++ compiler for musl out of Debian's packages: its g++ and libstdc++'s headers, with musl's C headers and libc. No
# C++ runtime is linked, so no libstdc++ for musl is needed. For node-gyp: CXX and LINK.
#   MUSL_ARCH    x64 (the default) or arm64
#   MUSL_ROOT    where musl-dev of that architecture is unpacked; empty: installed here
#   MUSL_KERNEL  a folder with the kernel's own headers (linux, asm, asm-generic) and nothing of glibc's beside them
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
case "${MUSL_ARCH:-x64}" in
  x64)
    gxx=g++
    triple=x86_64-linux-musl
    version=$($gxx -dumpversion)
    headers=/usr/include/c++/$version
    machine_headers=/usr/include/x86_64-linux-gnu/c++/$version
    ;;
  arm64)
    gxx=aarch64-linux-gnu-g++
    triple=aarch64-linux-musl
    version=$($gxx -dumpversion)
    headers=/usr/aarch64-linux-gnu/include/c++/$version
    machine_headers=$headers/aarch64-linux-gnu
    ;;
  *)
    echo "musl-cxx: MUSL_ARCH is x64 or arm64, not $MUSL_ARCH" >&2
    exit 2
    ;;
esac
for word in "$@"; do
  [ "$word" = -c ] || continue
  exec $gxx -include "$top/native/runtime/musl_headers.h" -nostdinc -isystem "$headers" -isystem "$machine_headers" \
    -isystem "$($gxx -print-file-name=include)" -isystem "${MUSL_ROOT:-}/usr/include/$triple" \
    -isystem "$MUSL_KERNEL" "$@"
done
exec $gxx "$@" -nostdlib -nostartfiles -L"${MUSL_ROOT:-}/usr/lib/$triple"
