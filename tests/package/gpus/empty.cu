// Nothing: what it would be compiled to is in the build files.
