module example.com/simulator

go 1.26.0

require github.com/isohound/isohound v0.0.0

require (
	github.com/crillab/gophersat v1.4.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/josharian/intern v1.0.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mailru/easyjson v0.9.2 // indirect
	github.com/mumax/3 v3.9.3+incompatible // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/isohound/isohound => ../..
