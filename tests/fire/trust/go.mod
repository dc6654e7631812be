module vestibule.dev/trust

go 1.22
