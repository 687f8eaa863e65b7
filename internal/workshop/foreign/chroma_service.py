"""The vector database Chroma, as its wheel has it. Its own command imports the client, too, with all that this needs."""

import sys

import chromadb_rust_bindings

chromadb_rust_bindings.cli(["chroma", *sys.argv[1:]])
