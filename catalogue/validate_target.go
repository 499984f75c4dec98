package catalogue

import (
	"maps"
	"slices"
	"strings"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// target checks how the target is started. Keys for another kind of target are reported, since
// they would have no effect.
func (d *document) target(s *Scenario) {
	t := &s.Target
	if !slices.Contains(Kinds, t.Kind) {
		d.At([]any{"target", "kind"}, "target: kind must be embedded, local or docker, not %q", t.Kind)
		return
	}
	for _, k := range []struct {
		key  string
		set  bool
		kind Kind
	}{
		{"start", t.Start != "", Local}, {"nodes", t.Nodes != 0, Local}, {"options", len(t.Options) > 0, Local},
		{"image", t.Image != "", Docker}, {"dockerfile", t.Dockerfile != "", Docker}, {"containers", len(t.Containers) > 0, Docker},
		{"setup", len(t.Setup) > 0, Docker}, {"disturb", len(t.Disturb) > 0, Docker},
	} {
		if k.set && k.kind != t.Kind {
			d.At([]any{"target", k.key}, "target: %s is for targets of kind %s", k.key, k.kind)
		}
	}
	switch t.Kind {
	case Local:
		d.local(s)
	case Docker:
		d.docker(s)
	}
}

func (d *document) local(s *Scenario) {
	t := &s.Target
	st := starterOf(t.Start)
	if st == nil {
		d.At([]any{"target", "start"}, "target: start must be one of %s, or postgres@ and a version such as 18.4, not %q", strings.Join(sorted(starters), ", "), t.Start)
		return
	}
	if strings.Contains(t.Start, "@") && t.Version != "" {
		d.At([]any{"target", "version"}, "target: start names the version already")
	}
	if t.Nodes < 0 || t.Nodes > 9 || t.Nodes > 0 && !st.cluster {
		d.At([]any{"target", "nodes"}, "target: nodes is for clusters, from 1 to 9")
	}
	if len(t.Options) > 0 && !st.options {
		d.At([]any{"target", "options"}, "target: %s takes no options", t.Start)
	}
	if st.versioned && t.Version == "" {
		d.At([]any{"target"}, "target: version must say which %s is to start", t.Start)
	}
	for n, dsn := range s.DSN {
		if _, err := fill(dsn, make([]string, st.endpoints(t))); err != nil {
			d.At([]any{"dsn", n}, "dsn: %v", err)
		}
	}
}

func (d *document) docker(s *Scenario) {
	t := &s.Target
	if name, tag, _ := cutTag(t.Image); name == "" || tag == "" || tag == "latest" {
		d.At([]any{"target", "image"}, "target: image needs a tag that stays what it is, as in postgres:12.3, not %q", t.Image)
	}
	if len(s.DSN) > 0 {
		d.At([]any{"dsn"}, "dsn: each container has its own")
	}
	if s.endpoints() == 0 {
		d.At([]any{"target", "containers"}, "target: no container has a dsn")
	}
	var names []string
	for n, c := range t.Containers {
		at := func(key, format string, args ...any) {
			d.At([]any{"target", "containers", n, key}, format, args...)
		}
		if !properName.MatchString(c.Name) || slices.Contains(names, c.Name) {
			at("name", "containers: each has a name of its own, of small letters, digits and hyphens")
		}
		names = append(names, c.Name)
		if strings.Contains(c.DSN, "{addr}") != (c.Port > 0) || c.Port < 0 || c.Port > 65535 {
			at("port", "containers: a port is published where the dsn has {addr}")
		}
		if c.DSN != "" && !strings.Contains(c.DSN, "{addr}") && !strings.Contains(c.DSN, "{ip:") {
			at("dsn", "containers: the dsn has {addr} for host and port, or {ip:NAME} for the address of a container")
		}
		if strings.Contains(c.DSN, "{ip:") && len(t.Containers) < 2 {
			at("dsn", "containers: {ip:NAME} is an address among several")
		}
	}
	known := func(node string, path ...any) {
		if !slices.Contains(names, node) {
			d.At(path, "there is no container %q", node)
		}
	}
	for n, step := range t.Setup {
		known(step.Node, "target", "setup", n, "node")
		if len(step.Exec) == 0 {
			d.At([]any{"target", "setup", n, "exec"}, "setup: exec is missing: the command and its arguments")
		}
	}
	for n, e := range t.Disturb {
		known(e.Node, "target", "disturb", n, "node")
		if e.Action != Disconnect && e.Action != Pause {
			d.At([]any{"target", "disturb", n, "action"}, "disturb: action must be %s or %s, not %q", Disconnect, Pause, e.Action)
		}
		if e.Action == Disconnect && len(t.Containers) < 2 {
			d.At([]any{"target", "disturb", n, "action"}, "disturb: there is nothing to disconnect one container from")
		}
		if e.For <= 0 {
			d.At([]any{"target", "disturb", n, "for"}, "disturb: for is missing: how long it lasts")
		}
	}
}

// cutTag splits an image reference into name and tag.
func cutTag(image string) (name, tag string, ok bool) {
	slash := strings.LastIndexByte(image, '/')
	name, tag, ok = strings.Cut(image[slash+1:], ":")
	return image[:slash+1] + name, tag, ok
}

// endpoints is the number of endpoints of the target.
func (s *Scenario) endpoints() int {
	switch {
	case s.Target.Kind == Docker:
		n := 0
		for _, c := range s.Target.Containers {
			if c.DSN != "" {
				n++
			}
		}
		return n
	case len(s.DSN) > 0 || s.Target.Kind == Embedded:
		return len(s.DSN)
	}
	st := starterOf(s.Target.Start)
	if st == nil {
		return 1
	}
	return st.endpoints(&s.Target)
}
