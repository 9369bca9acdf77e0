# conan.sh CONAN ROOT WORK: `conan create` of Catena's recipe, in a home of its own. The consumer in its test_package is
# built and run.
set -e
export CONAN_HOME="$3/home"
rm -rf "$3"
"$1" profile detect
"$1" create "$2/packaging/conan" -s compiler.cppstd=gnu17 \
    -c "tools.cmake.cmake_layout:test_folder=$3/test_package"
