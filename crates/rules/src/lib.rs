//! Injection rules: documents and a pod in; decision, operations and explanation out; no I/O.
