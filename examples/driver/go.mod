module example.com/mapdb

go 1.26.0

require github.com/isohound/isohound v0.0.0

require github.com/pkg/errors v0.9.1 // indirect

replace github.com/isohound/isohound => ../..
