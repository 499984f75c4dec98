package file_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

func TestDetectTexts(t *testing.T) {
	long := strings.Repeat("; a comment\n", 200)
	for data, want := range map[string]file.Format{
		`{"isohound":1}`:                 file.Native,
		`{"txn":1}`:                      file.Native, // its reader says that the header is missing
		`{`:                              file.Native,
		`{:process 1 :type :ok}`:         file.Elle,
		`{ :process 1 :type :ok}`:        file.Elle,
		"\n\n[\n{:process 1 :type :ok}]": file.Elle,
		`({:process 1 :type :ok})`:       file.Elle,
		`( )`:                            file.Elle,
		`[#jepsen.history.Op{:process 1 :type :ok}]`: file.Elle,
		`#jepsen.history.Op{:process 1, :type :ok}`:  file.Elle,
		"{ ; a comment\n:process 1 :type :ok}":       file.Elle,
		"[ ; a comment\n{:process 1 :type :ok}]":     file.Elle,
		"#_ {:x 1}\n{:process 1 :type :ok}":          file.Elle,
		"[#_ {:x 1} {#_:y :process 1}]":              file.Elle,
		"#_ was here\ns1: r(x,0)":                    file.DSL,
		long + `{:process 1 :type :ok}`:              file.Elle,
		"; a comment\n":                              file.Elle,
		"0\t:invoke\t:read\tnil\n":                   file.Elle,
		"INFO  jepsen.core - Worker 0 starting\n":    file.Elle,
		"# of jepsen.io\ns1: r(x,0)":                 file.DSL,
		`[{"index":0,"type":"ok","process":1}]`:      file.ElleJSON,
		"[\n  {\n \"type\":\"ok\",\"process\":1}]":   file.ElleJSON,
		`{"type":"ok","process":1}`:                  file.ElleJSON,
		`[]`:                                         file.ElleJSON,
		`{"params":{"id":0},"data":[]}`:              file.DbcopJSON,
		"{\n\"data\" : [[]]}":                        file.DbcopJSON,
		`[[{"events":[],"committed":true}]]`:         file.DbcopJSON,
		"[\n [] ]":                                   file.DbcopJSON,
		"r(1,2,3,4)\nw(1,2,3,-1)":                    file.Text,
		"\nw(1,2,3,-1)\n":                            file.Text,
		"r 1 0\n":                                    file.Awdit,
		"w\t1 0\r\n-\n":                              file.Awdit,
		"===\nr 1 0":                                 file.Awdit,
		"-\n":                                        file.Awdit,
		"# a comment\ns1: r(x,0)":                    file.DSL,
		"#s1 was here\ns1: r(x,0)":                   file.DSL,
		"initial x=5\ns1: r(x,5)":                    file.DSL,
		"r(x,0)":                                     file.DSL,
		"nonsense":                                   file.DSL,
	} {
		path := filepath.Join(t.TempDir(), "h")
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := file.Open(path, file.Auto, nil)
		if err == nil {
			if f.Format != want {
				t.Errorf("%.40q is taken for %s, want %s", data, f.Format, want)
			}
			f.Close()
			continue
		}
		// A damaged file is still detected as its format.
		if says := map[file.Format]string{file.Native: "isohound header", file.DSL: "expected"}[want]; says == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %s", data, err, want)
		}
	}
}

// TestEmpty: an empty file is an error, in every format.
func TestEmpty(t *testing.T) {
	for _, data := range []string{"", "\n", " \r\n\t\n", "\ufeff", "\ufeff\n", strings.Repeat("\n", 1000)} {
		for _, format := range append(file.Formats, file.Auto) {
			if file.Folder(format) {
				continue
			}
			_, err := file.Open("-", format, strings.NewReader(data))
			var fe *history.FormatError
			if !errors.As(err, &fe) || err.Error() != "standard input: the file is empty" {
				t.Errorf("%q as %s: %v", data, format, err)
			}
		}
	}
}

// TestByteOrderMark: a byte order mark before a text is skipped.
func TestByteOrderMark(t *testing.T) {
	for _, text := range []string{
		`{"isohound":1}` + "\n" + `{"txn":1,"session":1,"status":"committed","ops":[["w","x",1]]}` + "\n" + `{"closed":{"reason":"complete","txns":1}}` + "\n",
		`{:process 1 :type :ok :value [[:w :x 1]]}`, `[{"process":1,"type":"ok","value":[["w","x",1]]}]`,
		`[[{"events":[["w",1,1]],"committed":true}]]`, "w(1,1,1,1)\n", "w 1 1\n", "s1: w(x,1)\n",
	} {
		plain, err := file.Open("-", file.Auto, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []file.Format{file.Auto, plain.Format} {
			f, err := file.Open("-", format, slow{strings.NewReader("\ufeff" + text)})
			if err != nil || f.Format != plain.Format {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if h, err := history.Load(context.Background(), f); err != nil || len(h.Txns) != 1 {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for text, want := range map[string]string{"\x1f\x8b\x08\x00": "compressed with gzip; unpack it with gunzip", "\xfd7zXZ\x00": "compressed with xz", "\x28\xb5\x2f": "a file of zstd, cut off after 3 bytes"} {
		if _, err := file.Open("-", file.Auto, strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := file.Open("-", file.Auto, strings.NewReader("\xff\xfes\x001\x00:\x00")); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Error(err)
	}
}

// TestArchives: a file that holds a history is told from one, with the tool that unpacks it.
func TestArchives(t *testing.T) {
	tar := "history.jsonl" + strings.Repeat("\x00", 244) + "ustar\x0000" + strings.Repeat("\x00", 247)
	for data, want := range map[string]string{
		"PK\x03\x04\x14\x00": "a file of zip; unpack it first, with unzip", "PK\x05\x06" + strings.Repeat("\x00", 18): "a file of zip",
		"BZh91AY&SY\x12\x34": "a file of bzip2; unpack it first, with bunzip2", "BZh9\x17rE8P\x90\x00\x00\x00\x00": "a file of bzip2",
		"7z\xbc\xaf\x27\x1c\x00\x04": "a file of 7-Zip", "\x04\x22\x4d\x18\x64": "a file of LZ4", tar: "a file of tar; unpack it first, with tar -xf",
	} {
		path := filepath.Join(t.TempDir(), "h")
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Open(path, file.Auto, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", data, err, want)
		}
	}
}

// TestFolders: a folder must hold Cobra's logs, and a file is never one of Cobra's formats.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	open := func(path string, f file.Format) string {
		h, err := file.Open(path, f, nil)
		if err != nil {
			return err.Error()
		}
		h.Close()
		return string(h.Format)
	}
	if got := open(dir, file.Auto); !strings.Contains(got, "this is a folder without logs of Cobra") {
		t.Error(got)
	}
	log := filepath.Join(dir, "T1.log")
	if err := os.WriteFile(log, []byte("S\x00\x00\x00\x00\x00\x00\x00\x01C\x00\x00\x00\x00\x00\x00\x00\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[file.Format]string{
		file.Auto: "cobra", file.Cobra: "cobra", file.CobraUV: "cobra-uv", file.Dbcop: "this is a folder, not a history of the format dbcop",
	} {
		if got := open(dir, f); !strings.Contains(got, want) {
			t.Errorf("%s: %s", f, got)
		}
	}
	if got := open(log, file.Cobra); !strings.Contains(got, "name the folder") {
		t.Error(got)
	}
}

// TestReportOfEtcd: a folder with client-1 is a report of etcd, and a file of it is told where to look.
func TestReportOfEtcd(t *testing.T) {
	report := filepath.Join("..", "etcd", "testdata", "report")
	for _, format := range []file.Format{file.Auto, file.Etcd} {
		h, err := file.Load(context.Background(), report, format, nil)
		if err != nil || len(h.Txns) != 14 {
			t.Errorf("%s: %v", format, err)
		}
		for _, part := range []string{"client-1/watch.json", "client-2/operations.json"} {
			if _, err := file.Open(filepath.Join(report, part), format, nil); err == nil || !strings.Contains(err.Error(), "name the one with the folder client-1") {
				t.Errorf("%s as %s: %v", part, format, err)
			}
		}
	}
	if _, err := file.Open(report, file.Cobra, nil); err == nil || !strings.Contains(err.Error(), "no log of Cobra") {
		t.Error(err)
	}
}
