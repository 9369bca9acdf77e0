# Included by a consumer project behind its project(): a language that it does not ask for.
enable_language(CUDA)
