//go:build !front

package cli

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// TestDeploy: the files in deploy/ are YAML of the right shape, and the command lines in them are ones that
// isohound accepts.
func TestDeploy(t *testing.T) {
	type container struct {
		Image        string
		Args         []string
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
		Resources map[string]map[string]string
		Env       []map[string]any
		Name      string
	}
	type object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			Parallelism  int
			BackoffLimit *int     `yaml:"backoffLimit"`
			AccessModes  []string `yaml:"accessModes"`
			Resources    map[string]map[string]string
			Template     struct {
				Spec struct {
					RestartPolicy string         `yaml:"restartPolicy"`
					Grace         int            `yaml:"terminationGracePeriodSeconds"`
					Security      map[string]any `yaml:"securityContext"`
					Containers    []container
					Volumes       []struct {
						Name     string
						EmptyDir map[string]string `yaml:"emptyDir"`
						Claim    map[string]string `yaml:"persistentVolumeClaim"`
					}
				}
			}
		}
	}
	var lines [][]string
	for _, file := range []string{"judges.yaml", "run.yaml", "loaders.yaml"} {
		dec := yaml.NewDecoder(bytes.NewReader([]byte(deployed(t, "deploy/kubernetes/"+file))))
		dec.KnownFields(true)
		jobs := 0
		for {
			var o object
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if o.Metadata.Name == "" || o.APIVersion == "" {
				t.Errorf("%s: %+v", file, o)
			}
			if o.Kind != "Job" {
				continue
			}
			jobs++
			pod := o.Spec.Template.Spec
			if len(pod.Containers) != 1 || !slices.Contains([]string{"Never", "OnFailure"}, pod.RestartPolicy) {
				t.Fatalf("%s: %+v", file, pod)
			}
			c := pod.Containers[0]
			for _, m := range c.VolumeMounts {
				if !slices.ContainsFunc(pod.Volumes, func(v struct {
					Name     string
					EmptyDir map[string]string `yaml:"emptyDir"`
					Claim    map[string]string `yaml:"persistentVolumeClaim"`
				}) bool {
					return v.Name == m.Name
				}) {
					t.Errorf("%s: there is no volume %s", file, m.Name)
				}
			}
			lines = append(lines, c.Args)
		}
		if jobs != 1 {
			t.Errorf("%s has %d jobs", file, jobs)
		}
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(deployed(t, "deploy/kubernetes/nats-values.yaml")), &values); err != nil {
		t.Error(err)
	}
	var compose struct {
		Services map[string]struct {
			Image     string
			Command   []string
			DependsOn yaml.Node `yaml:"depends_on"`
		}
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "deploy/compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	for _, s := range compose.Services {
		if s.Image == "isohound" {
			lines = append(lines, s.Command)
		}
	}
	if len(lines) != 6 {
		t.Fatalf("%d command lines", len(lines))
	}
	t.Setenv(dsnVariable, "postgres://me@127.0.0.1:1/test")
	for _, args := range lines {
		if strings.Contains(strings.Join(args, " "), "dsn") { // a process list would show the password
			t.Errorf("%q", args)
		}
		accepts(t, args)
	}
}

// accepts fails unless a command line gets as far as the NATS server, which does not answer here: all of it was
// read, and nothing in it contradicts something else.
func accepts(t *testing.T, args []string) {
	t.Helper()
	a := &app{out: os.Stdout, msg: os.Stderr, stopSignals: func() {}}
	root := a.root(args)
	c, rest, err := root.Find(args)
	if err == nil && c != root {
		err = c.ParseFlags(rest)
	}
	if err != nil || c == root || cobra.NoArgs(c, c.Flags().Args()) != nil {
		t.Errorf("%q: %v", args, err)
	}
	local := slices.Clone(args)
	for n := range local {
		local[n] = strings.ReplaceAll(local[n], "nats://nats:4222", "nats://127.0.0.1:1")
		local[n] = strings.ReplaceAll(local[n], "--out=/", "--out="+t.TempDir()+"/")
	}
	if c := isohound(t, local...); c.code != 69 || !strings.Contains(c.msg, "NATS server nats://127.0.0.1:1") {
		t.Errorf("%q: exit code %d: %s", args, c.code, c.msg)
	}
}
