# Sourced by the scripts beside it: installs what is missing on Debian 12 and configures the
# build. With everything there it uses no network.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=ci
build=build/ci
python=build/python

# Debian packages that are not installed yet.
missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done
}

install_packages() {
    local missing=($(missing_packages "$@"))
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing: ${missing[*]}"
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -q
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Into an environment of the build folder, so that any system Python serves.
install_python_packages() {
    "$python/bin/python" -c "import $(IFS=,; echo "$*")" 2>/dev/null && return 0
    echo "installing into $python: $*"
    /usr/bin/python3 -m venv "$python"
    "$python/bin/pip" install -q "$@"
}

# install_ggml [PREFIX [CMAKE_OPTION...]]: ggml with its CMake package, for the tests of its adapter: the sources in
# PyPI's llama-cpp-python, of which only ggml is built. cmake/catena_ggml.cmake looks for it in build/ggml. The sources of
# llama.cpp stay in build/llama, for the tests of the integration in llama.cpp.
llama_cpp_python=0.3.36  # ggml 0.25.3
llama=build/llama
install_ggml() {
    local prefix=${1:-build/ggml}
    local work=$prefix-work
    [ "$(cat "$prefix/installed" 2>/dev/null)" != "$llama_cpp_python" ] || [ ! -d "$llama/tools" ] || return 0
    echo "installing into $prefix: ggml of llama-cpp-python $llama_cpp_python"
    if [ "$(cat "$work/unpacked" 2>/dev/null)" != "$llama_cpp_python" ]; then  # else a build that was cut goes on
        rm -rf "$work"
        mkdir -p "$work"
        "$python/bin/pip" download -q --no-deps --no-binary llama-cpp-python -d "$work" \
            "llama-cpp-python==$llama_cpp_python"
        tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$work" --strip-components=3 --wildcards \
            '*/vendor/llama.cpp/'{ggml,src,include,common,tools,vendor,cmake,scripts,licenses,CMakeLists.txt,LICENSE}
        echo "$llama_cpp_python" > "$work/unpacked"
    fi
    rm -rf "$prefix"
    { cmake -G Ninja -S cmake/ggml -B "$work/build" -DGGML_SOURCE="$PWD/$work/ggml" -DCMAKE_BUILD_TYPE=Release \
          -DCMAKE_INSTALL_PREFIX="$PWD/$prefix" -DCMAKE_INSTALL_LIBDIR=lib "${@:2}" &&
      cmake --build "$work/build" -j "$(nproc)" --target install; } > "$work/log" || { tail -n 40 "$work/log"; return 1; }
    echo "$llama_cpp_python" > "$prefix/installed"
    rm -rf "$llama"
    mkdir -p "$llama"
    mv "$work"/{ggml,src,include,common,tools,vendor,cmake,scripts,licenses,CMakeLists.txt,LICENSE} "$llama"
    rm -rf "$work"
}

# The same ggml with ggml-cuda as a module, where nvcc is, for the tests that load it without a GPU. Its kernels never
# run: they are PTX, compiled in haste. The objects stay, since a test links them with Catena.
install_ggml_cuda() {
    local prefix=build/ggml-cuda
    local flags=""
    export PATH=$PATH:/usr/local/cuda/bin
    command -v nvcc > /dev/null && [ "$(cat "$prefix/installed" 2>/dev/null)" != "$llama_cpp_python" ] || return 0
    echo "building in $prefix: ggml-cuda of llama-cpp-python $llama_cpp_python"
    if nvcc --help | grep -q Ofast-compile; then flags="-Ofc max"; fi  # CUDA 12.9
    mkdir -p "$prefix"
    { cmake -G Ninja -S cmake/ggml -B "$prefix" -DGGML_SOURCE="$PWD/$llama/ggml" -DCMAKE_BUILD_TYPE=Release \
          -DGGML_BACKEND_DL=ON -DGGML_CUDA=ON -DGGML_CUDA_GRAPHS=ON -DGGML_CUDA_FA=ON -DGGML_CUDA_NCCL=OFF \
          -DCMAKE_CUDA_ARCHITECTURES=90-virtual -DCMAKE_CUDA_FLAGS="$flags" &&
      cmake --build "$prefix" -j "$(nproc)" --target ggml-cuda; } > "$prefix/log" || { tail -n 40 "$prefix/log"; return 1; }
    echo "$llama_cpp_python" > "$prefix/installed"
}

# libllama on the CPU, unmodified, from the sources that install_ggml leaves: the test llama_decode runs models with it.
install_llama() {
    local prefix=build/libllama
    [ "$(cat "$prefix/installed" 2>/dev/null)" != "$llama_cpp_python" ] || return 0
    echo "building in $prefix: libllama of llama-cpp-python $llama_cpp_python"
    mkdir -p "$prefix"
    { cmake -G Ninja -S cmake/llama -B "$prefix" -DLLAMA_SOURCE="$PWD/$llama" -DCMAKE_BUILD_TYPE=Release \
          -DCMAKE_PREFIX_PATH="$PWD/build/ggml" &&
      cmake --build "$prefix" -j "$(nproc)"; } > "$prefix/log" || { tail -n 40 "$prefix/log"; return 1; }
    echo "$llama_cpp_python" > "$prefix/installed"
}

# llama.cpp's own programs, which load their backends, as its releases have them: the test llama_stock gives them Catena.
# Where the work goes is not looked at, so nothing is optimized.
install_llama_programs() {
    local prefix=build/llama-programs
    [ "$(cat "$prefix/installed" 2>/dev/null)" != "$llama_cpp_python" ] || return 0
    echo "building in $prefix: llama-bench and llama-cli of llama-cpp-python $llama_cpp_python"
    mkdir -p "$prefix"
    { cmake -G Ninja -S "$llama" -B "$prefix" -DCMAKE_BUILD_TYPE=Release \
          -DCMAKE_C_FLAGS_RELEASE="-O0 -DNDEBUG" -DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" \
          -DCMAKE_INSTALL_RPATH='$ORIGIN' -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
          -DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF \
          -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
          -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF &&
      cmake --build "$prefix" -j "$(nproc)" --target llama-bench llama-cli; } > "$prefix/log" ||
        { tail -n 40 "$prefix/log"; return 1; }
    echo "$llama_cpp_python" > "$prefix/installed"
}

configure() {
    cmake --preset "$preset" "$@"
}

compile() {
    cmake --build "$build" -j "$(nproc)" "$@"
}

build_packages=(g++ cmake ninja-build libboost1.81-dev libboost-context1.81-dev
                nlohmann-json3-dev libfmt-dev libcli11-dev zlib1g-dev)
test_packages=(catch2 git libbenchmark-dev clang clang-format clang-tidy cppcheck libclang-rt-dev python3 python3-venv
               ca-certificates chromium graphviz doxygen mandoc)
