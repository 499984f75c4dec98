package file

import (
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Format is a file format.
type Format string

const (
	Auto      Format = "auto"       // detected from the content
	Native    Format = "native"     // JSON Lines, compressed or not
	Dbcop     Format = "dbcop"      // dbcop's binary format
	DbcopJSON Format = "dbcop-json" // dbcop's JSON
	Cobra     Format = "cobra"      // a folder of Cobra's logs, writes identified by their values
	CobraUV   Format = "cobra-uv"   // the same, writes identified by their ids
	Text      Format = "text"       // PolySI's and Plume's r(key,value,session,transaction)
	Awdit     Format = "awdit"      // AWDIT's text
	Elle      Format = "elle"       // Jepsen's and Elle's EDN
	ElleJSON  Format = "elle-json"  // elle-cli's JSON
	DSL       Format = "dsl"        // the notation of tests and docs
	Etcd      Format = "etcd"       // a folder, a report of etcd's robustness tests
	Debezium  Format = "debezium"   // Debezium's change events as lines of JSON
)

// Imports lists the formats that can only be read.
var Imports = []Format{Etcd, Debezium}

// Formats lists the formats that can be read and written.
var Formats = []Format{Native, Dbcop, DbcopJSON, Cobra, CobraUV, Text, Awdit, Elle, ElleJSON, DSL}

// Names returns the names of the formats that can be read, separated by commas, for help texts.
func Names() string { return Written() + ", " + names(Imports) }

// Written returns the names of the formats that can be written.
func Written() string { return names(Formats) }

func names(list []Format) string {
	var all []string
	for _, f := range list {
		all = append(all, string(f))
	}
	return strings.Join(all, ", ")
}

// ParseFormat checks the name of a format.
func ParseFormat(s string) (Format, error) {
	if s == "" || Format(s) == Auto {
		return Auto, nil
	}
	for _, f := range slices.Concat(Formats, Imports) {
		if Format(s) == f {
			return f, nil
		}
	}
	return "", errors.Errorf("unknown format %q; known are auto, %s", s, Names())
}

// ByName guesses the format to write from the name of a file: native, unless only one other
// format has that ending.
func ByName(path string) Format {
	switch {
	case strings.HasSuffix(path, ".bincode"):
		return Dbcop
	case strings.HasSuffix(path, ".edn"):
		return Elle
	}
	return Native
}
