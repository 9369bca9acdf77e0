"""Catena as a Conan 2 package: `conan create packaging/conan` from the project's root."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Catena(ConanFile):
    name = "catena"
    description = "Fused GPU kernels for LLM inference: norm, scale, quantize and matmul as one launch"
    license = "MIT"
    topics = ("cuda", "llm", "inference", "quantization", "kernels")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "static-library"
    options = {
        "cuda": [True, False],  # compile the kernels, with the nvcc of the machine
        "cuda_archs": ["ANY"],  # whose: sm_90, or such as "sm_80;sm_90"
        "host": [True, False],  # the host executor, which runs plans without a GPU
        "tools": [True, False],  # the command catena, and the generator for catalogues of one's own
    }
    default_options = {"cuda": False, "cuda_archs": "sm_90", "host": False, "tools": False}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        project = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(catena VERSION ([0-9.]+)", project)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "instances/*", "evidence/*", "generators/*",
                        "measure/*", "tools/*"):
            copy(self, pattern, src=self._root, dst=self.export_sources_folder)

    def requirements(self):
        if self.options.host or self.options.tools:
            self.requires("boost/[>=1.75 <2]")
        if self.options.tools:
            self.requires("nlohmann_json/[>=3.10 <4]")
            self.requires("cli11/[>=2.2 <3]")
            self.requires("fmt/[>=9 <12]")
            self.requires("zlib/[>=1.2 <2]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "CATENA_CUDA": "ON" if self.options.cuda else "OFF",
            "CATENA_CUDA_ARCHS": str(self.options.cuda_archs),
            "CATENA_BUILD_HOST": bool(self.options.host or self.options.tools),
            "CATENA_BUILD_TOOLS": bool(self.options.tools),
            "CATENA_BUILD_TESTS": False,
            "CATENA_BUILD_BENCH": False,
            "CATENA_BUILD_EXAMPLES": False,
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files know its targets and components: no others are made.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "catena")]
