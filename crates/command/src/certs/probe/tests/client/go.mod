module vestibule.dev/probe-client

go 1.21
