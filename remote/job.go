package remote

import (
	"encoding/json"
	"fmt"
)

// protocol is the version of Job and Result. A judge refuses jobs of another version.
const protocol = 1

// Job is a window that is to be judged.
type Job struct {
	Protocol int    `json:"protocol"`
	Run      string `json:"run"`
	Window   int    `json:"window"` // from 1
	// SHA256 is the digest of the window's file, and After that of the window before, "" for none.
	SHA256 string `json:"sha256"`
	After  string `json:"after,omitempty"`
	// File is the name of the file, and Bytes its size.
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// Checks says what is to be checked.
	Checks json.RawMessage `json:"checks"`
}

func (j *Job) subject() string { return fmt.Sprintf("%s%s.%06d", queueSubject, j.Run, j.Window) }
func (j *Job) object() string  { return fmt.Sprintf("%s/%06d", j.Run, j.Window) }

func verdictKey(run string, n int) string { return fmt.Sprintf("%s.verdict.%06d", run, n) }
func stateKey(run string, n int) string   { return fmt.Sprintf("%s.state.%06d", run, n) }

// Result is what a judge found.
type Result struct {
	Window int    `json:"window"`
	Judge  string `json:"judge"` // who judged it: host and process
	// Verdict is set unless the window could not be judged; Failed then says why.
	Verdict json.RawMessage `json:"verdict,omitempty"`
	Failed  string          `json:"failed,omitempty"`
	// Object is the name of an object with the Verdict, if it is too long for a message.
	Object string `json:"object,omitempty"`
}

// entry is what the bucket keeps of a window for the later ones.
type entry struct {
	// Same says that the state is that of the window before.
	Same  bool            `json:"same,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
}

// news tells a run about one of its windows: that its verdict is in the bucket, or why a judge gave it up.
type news struct {
	Window int    `json:"window"`
	Failed string `json:"failed,omitempty"`
}
