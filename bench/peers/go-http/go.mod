module example.com/bench/go-http

go 1.26.0
