module github.com/isohound/isohound

go 1.26

require (
	github.com/klauspost/compress v1.20.3
	github.com/mailru/easyjson v0.9.2
	github.com/pkg/errors v0.9.1
)

require github.com/josharian/intern v1.0.0 // indirect
