package file

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/debezium"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/history/forms"
	"github.com/isohound/isohound/history/native"
)

const (
	// shortHead is enough for binary formats and our own. A pipe may deliver its first bytes
	// slowly; detection then waits only for these.
	shortHead = 64
	// longHead is how many bytes are searched in texts that begin with comments or space.
	longHead = 4 << 10
)

// byteOrderMark stands before UTF-8 in the files of some editors.
const byteOrderMark = "\ufeff"

var errEmpty = errors.New("the file is empty")

// begin returns the first bytes of a file after a byte order mark, which is skipped. A pipe may
// deliver them slowly, so begin waits for few bytes, or for more if those are blank.
func begin(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(shortHead)
	if rest, marked := bytes.CutPrefix(head, []byte(byteOrderMark)); marked && isText(rest) {
		_, _ = r.Discard(len(byteOrderMark)) // they were peeked
		head, err = r.Peek(shortHead)
	}
	if len(bytes.TrimSpace(head)) == 0 && err == nil {
		head, err = r.Peek(longHead)
	}
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case err == io.EOF && len(bytes.TrimSpace(head)) == 0:
		return nil, errEmpty
	}
	return head, nil
}

// detect finds the format by the first bytes; more returns more of them.
func detect(head []byte, size int64, more func() []byte) (Format, error) {
	if ok, _ := native.Detect(head); ok {
		return Native, nil
	}
	for _, packed := range []struct{ magic, name, unpack string }{{"\x1f\x8b", "gzip", "gunzip"}, {"\xfd7zXZ", "xz", "unxz"}} {
		if bytes.HasPrefix(head, []byte(packed.magic)) {
			return "", errors.Errorf("this is compressed with %s; unpack it with %s, isohound reads files of zstd only", packed.name, packed.unpack)
		}
	}
	if strings.HasPrefix("\x28\xb5\x2f\xfd", string(head)) && len(head) > 1 {
		return "", errors.Errorf("this is the beginning of a file of zstd, cut off after %d bytes", len(head))
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return "", errors.New("this is a text in UTF-16; isohound reads UTF-8")
	}
	if kind, tool := packed(head, more); kind != "" {
		return "", errors.Errorf("this is a file of %s; unpack it first, with %s", kind, tool)
	}
	if isText(head) {
		return detectText(more()), nil
	}
	if dbcop.Detect(head, size) {
		return Dbcop, nil
	}
	return "", errors.Errorf("not a history in any format that isohound reads (%s); name it with --format if it is one", Names())
}

// archives are the beginnings of files that hold other files, or a compressed one, and what unpacks them.
var archives = []struct{ begins, kind, tool string }{
	{"PK\x03\x04", "zip", "unzip"},
	{"PK\x05\x06", "zip", "unzip"},
	{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x"},
	{"\x04\x22\x4d\x18", "LZ4", "lz4 -d"},
	{"\x02\x21\x4c\x18", "LZ4", "lz4 -d"}, // of its first versions
}

// packed returns the kind of archive that a file is, and what unpacks it; "" for none.
func packed(head []byte, more func() []byte) (kind, tool string) {
	for _, a := range archives {
		if bytes.HasPrefix(head, []byte(a.begins)) {
			return a.kind, a.tool
		}
	}
	const block = 4 // behind BZh and the size of blocks comes the mark of a block, or of the end
	if bytes.HasPrefix(head, []byte("BZh")) && len(head) > block && (bytes.HasPrefix(head[block:], []byte("1AY&SY")) || bytes.HasPrefix(head[block:], []byte("\x17rE8P\x90"))) {
		return "bzip2", "bunzip2"
	}
	const mark = 257 // where the header of a tar archive names its format; before it there is a name with zeros behind it
	if long := more(); len(long) > mark && bytes.HasPrefix(long[mark:], []byte("ustar")) && bytes.IndexByte(long[:mark], 0) > 0 {
		return "tar", "tar -xf"
	}
	return "", ""
}

func isText(b []byte) bool {
	for _, c := range b {
		if c == 0x7f || c < 0x20 && c != '\n' && c != '\t' && c != '\r' && c != '\f' {
			return false
		}
	}
	return true
}

// kinds are the beginnings that distinguish the text formats except EDN, after blank lines and comments.
// JSON that matches none of them counts as native, whose reader then reports the error in the
// header. The patterns are compiled on use, because most runs meet no text.
var kinds = []struct {
	format Format
	begins string
}{
	{ElleJSON, `^(\[\s*\]|\[\s*\{|\{\s*"(index|type|process|f|value|time)")`},
	{Debezium, debezium.Begins},
	{Etcd, `^\{\s*"(ClientId|Request)"`},
	{DbcopJSON, `^(\[\s*\[|\{\s*"(params|info|start|end|data)")`},
	{Native, `^\{`},
	{Text, `^[rw]\(\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*-?\d+\s*\)`},
	{Awdit, `^([rw][ \t]+\d+[ \t]+\d+|-+|=+)[ \t\r]*(\n|$)`},
}

// comments matches the comments of EDN and of the DSL.
const comments = `^(\s|;[^\n]*(\n|$)|#([ \t#!][^\n]*)?(\n|$))*`

// isEDN reports whether a text begins as a history of Elle does: with a list, or with a map that is empty or whose first
// name is a keyword, alone or in a vector. Comments and discarded forms may stand before each of these.
func isEDN(head []byte) bool {
	in := forms.NewScanner(bytes.NewReader(head), false)
	kind, err := in.Next()
	if kind == forms.Vector {
		if head[in.Offset()-1] == '(' {
			return err == nil
		}
		kind, err = in.Next()
	}
	if err != nil || kind != forms.Map {
		return false
	}
	kind, err = in.Next()
	return err == nil && (kind == forms.Keyword || kind == forms.Close)
}

func detectText(head []byte) Format {
	rest := head[len(regexp.MustCompile(comments).Find(head)):]
	if isEDN(rest) {
		return Elle
	}
	for _, k := range kinds {
		if regexp.MustCompile(k.begins).Match(rest) {
			return k.format
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(";")) || elle.Table(head) {
		return Elle // it begins with comments that only EDN has, or is a table of Jepsen
	}
	return DSL
}
