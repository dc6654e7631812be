module example.com/bench/knative

go 1.26.0

require knative.dev/pkg v0.0.0-20230612155445-74c4be5e935e
