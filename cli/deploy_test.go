//go:build !front

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The files of deploy/ and action.yml are data for programs that are not here. These tests run the
// commands in them as those programs would, up to the connection: there is no server. What the
// programs themselves make of the files was not seen.

// deployed reads a file of the project.
func deployed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parsed reads a YAML file of the project.
func parsed(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// refusedAtServer runs a script in bash, with isohound on the PATH, and fails unless it ends
// because no server is at the address.
func refusedAtServer(t *testing.T, what, script string, env ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "isohound")); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("bash", "-e", "-c", script)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "ISOHOUND_MAIN=1", "ISOHOUND_DSN=postgres://me@127.0.0.1:1/test", "RUNNER_TEMP="+dir,
		"GITHUB_STEP_SUMMARY=summary", "PATH="+dir+":"+os.Getenv("PATH"))
	c.Env = append(c.Env, env...)
	if done := finish(t, c); done.code != int(exitUnavailable) {
		t.Errorf("%s: exit code %d\n%s\n%s", what, done.code, script, done.msg)
	}
}

// action is a composite action of GitHub.
type action struct {
	Inputs map[string]struct {
		Description, Default string
		Required             bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Uses, Run, Shell string
			Env              map[string]string
		}
	}
}

var input = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

// run runs the action's command with inputs.
func (a *action) run(t *testing.T, what string, with map[string]string) {
	t.Helper()
	for name := range with {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("%s: the action has no input %s", what, name)
		}
	}
	for name, in := range a.Inputs {
		if _, given := with[name]; in.Required && !given {
			t.Errorf("%s: input %s is missing", what, name)
		}
	}
	ran := 0
	for _, step := range a.Runs.Steps {
		if !strings.Contains(step.Run, `isohound" run`) {
			continue
		}
		ran++
		var env []string
		for name, value := range step.Env {
			m := input.FindStringSubmatch(value)
			if m == nil {
				t.Fatalf("%s: the value of %s is %s", what, name, value)
			}
			in, ok := a.Inputs[m[1]]
			if !ok {
				t.Errorf("%s: there is no input %s", what, m[1])
			}
			value, given := with[m[1]]
			if !given {
				value = in.Default
			}
			if name == "ISOHOUND_DSN" {
				value = "postgres://me@127.0.0.1:1/test"
			}
			env = append(env, name+"="+value)
		}
		refusedAtServer(t, what, step.Run, env...)
	}
	if ran != 1 || a.Runs.Using != "composite" {
		t.Errorf("%s: %d commands", what, ran)
	}
}

// TestAction: the action of GitHub builds this program, and its command is valid with the default
// inputs, with all inputs, and with those of the README's example.
func TestAction(t *testing.T) {
	var a action
	parsed(t, deployed(t, "action.yml"), &a)
	a.run(t, "defaults", map[string]string{"dsn": "x"})
	a.run(t, "all inputs", map[string]string{"dsn": "x", "driver": "postgres", "isolation": "repeatable read", "check": "si,ser", "workload": "skew",
		"duration": "1m", "max-memory": "1GiB", "check-timeout": "1m", "arguments": "--sessions 5 --keys 7", "out": "there", "artifact": "x"})
	var job struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]string
			}
		}
	}
	_, example, _ := strings.Cut(deployed(t, "README.md"), "With GitHub Actions:\n\n```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	parsed(t, example, &job)
	used := 0
	for _, j := range job.Jobs {
		for _, step := range j.Steps {
			if strings.HasPrefix(step.Uses, "isohound/isohound@") {
				used++
				a.run(t, "README", step.With)
			}
		}
	}
	if used != 1 {
		t.Errorf("the example uses the action %d times", used)
	}
}

// TestGitLab: the template's command is valid with its variables and with those of the README's
// example.
func TestGitLab(t *testing.T) {
	type job struct {
		Extends   string
		Script    []string
		Variables map[string]string
	}
	var template map[string]job
	parsed(t, deployed(t, "deploy/gitlab/isohound.yml"), &template)
	base := template[".isohound"]
	_, example, _ := strings.Cut(deployed(t, "README.md"), "With GitLab")
	_, example, _ = strings.Cut(example, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	var pipeline struct {
		Include   []map[string]string
		Isolation job
	}
	parsed(t, example, &pipeline)
	if len(pipeline.Include) != 1 || !strings.HasSuffix(pipeline.Include[0]["remote"], "/deploy/gitlab/isohound.yml") || pipeline.Isolation.Extends != ".isohound" {
		t.Errorf("the example does not use the template: %+v", pipeline)
	}
	for what, over := range map[string]map[string]string{"defaults": nil, "README": pipeline.Isolation.Variables} {
		var env []string
		for name, value := range base.Variables {
			env = append(env, name+"="+value)
		}
		for name, value := range over {
			if name != "ISOHOUND_DSN" && strings.HasPrefix(name, "ISOHOUND_") {
				if _, known := base.Variables[name]; !known {
					t.Errorf("%s: the template has no variable %s", what, name)
				}
				env = append(env, name+"="+value)
			}
		}
		ran := 0
		for _, line := range base.Script {
			if strings.HasPrefix(line, "isohound run ") {
				ran++
				refusedAtServer(t, what, line, env...)
			} else if line != "go install github.com/isohound/isohound/cmd/isohound@$ISOHOUND_VERSION" {
				t.Errorf("%s: %s", what, line)
			}
		}
		if ran != 1 {
			t.Errorf("%s: %d commands", what, ran)
		}
	}
}

// TestSystemd: the service's command is valid, the timer is for that service.
func TestSystemd(t *testing.T) {
	ran := 0
	for line := range strings.Lines(deployed(t, "deploy/systemd/isohound.service")) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=/usr/local/bin/"); ok {
			ran++
			refusedAtServer(t, "isohound.service", command)
		}
	}
	if ran != 1 {
		t.Errorf("%d commands", ran)
	}
	if timer := deployed(t, "deploy/systemd/isohound.timer"); !strings.Contains(timer, "OnCalendar=") || !strings.Contains(timer, "WantedBy=timers.target") {
		t.Error(timer)
	}
}

// TestKubernetes: the arguments of the job's container are valid, and it needs no rights.
func TestKubernetes(t *testing.T) {
	jobs := 0
	for _, text := range strings.Split(deployed(t, "deploy/kubernetes/cronjob.yaml"), "\n---\n") {
		var object struct {
			Kind string
			Spec struct {
				JobTemplate struct {
					Spec struct {
						BackoffLimit int `yaml:"backoffLimit"`
						Template     struct {
							Spec struct {
								Restart         string         `yaml:"restartPolicy"`
								SecurityContext map[string]any `yaml:"securityContext"`
								Containers      []struct {
									Args            []string
									SecurityContext map[string]any `yaml:"securityContext"`
								}
							}
						}
					}
				} `yaml:"jobTemplate"`
			}
		}
		parsed(t, text, &object)
		if object.Kind != "CronJob" {
			continue
		}
		jobs++
		pod := object.Spec.JobTemplate.Spec.Template.Spec
		if pod.Restart != "Never" || object.Spec.JobTemplate.Spec.BackoffLimit != 0 {
			t.Error("a violation is tried again")
		}
		if pod.SecurityContext["runAsNonRoot"] != true || len(pod.Containers) != 1 || pod.Containers[0].SecurityContext["readOnlyRootFilesystem"] != true {
			t.Errorf("%+v", pod)
		}
		refusedAtServer(t, "cronjob.yaml", commandLine(append([]string{"isohound"}, pod.Containers[0].Args...)...))
	}
	if jobs != 1 {
		t.Errorf("%d jobs", jobs)
	}
}

// TestDockerfile: every line is an instruction, what is copied exists, and the last stage has no
// shell and runs without rights. No image is built here.
func TestDockerfile(t *testing.T) {
	known := regexp.MustCompile(`^(FROM|WORKDIR|COPY|RUN|USER|ENTRYPOINT|CMD) (.+)$`)
	last := map[string]string{}
	stages := map[string]bool{}
	for line := range strings.Lines(deployed(t, "deploy/docker/Dockerfile")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := known.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s is no instruction", line)
		}
		words := strings.Fields(m[2])
		switch m[1] {
		case "FROM":
			last = map[string]string{}
			if len(words) == 3 && words[1] == "AS" {
				stages[words[2]] = true
			}
		case "COPY":
			if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
				if !stages[stage] {
					t.Errorf("%s: there is no such stage", line)
				}
				continue
			}
			for _, path := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join("..", path)); err != nil {
					t.Error(err)
				}
			}
		case "RUN":
			if at := strings.LastIndex(m[2], "./"); at >= 0 {
				if _, err := os.Stat(filepath.Join("..", m[2][at:])); err != nil {
					t.Error(err)
				}
			}
		}
		last[m[1]] = m[2]
	}
	if last["USER"] != "65532:65532" || !strings.Contains(last["FROM"], "distroless/static") || last["RUN"] != "" || last["ENTRYPOINT"] != `["/usr/local/bin/isohound"]` {
		t.Errorf("%v", last)
	}
}

// TestPlans: the plans of hunts are ones, and none of their cells is left out.
func TestPlans(t *testing.T) {
	plans, err := filepath.Glob("../deploy/hunts/*.yaml")
	if err != nil || len(plans) == 0 {
		t.Fatal(plans, err)
	}
	for _, plan := range plans {
		if plan, err = filepath.Abs(plan); err != nil {
			t.Fatal(err)
		}
		c := isohound(t, "hunt", plan, "--list", "--out", t.TempDir()+"/none")
		if c.code != 0 || strings.Contains(c.out, "not run:") {
			t.Errorf("%s: exit code %d\n%s%s", plan, c.code, c.out, c.msg)
		}
	}
	// The plan in the documentation.
	text, err := os.ReadFile("../docs/hunt.md")
	if err != nil {
		t.Fatal(err)
	}
	_, plan, _ := strings.Cut(string(text), "```yaml\n")
	plan, _, ok := strings.Cut(plan, "```")
	if !ok {
		t.Fatal("docs/hunt.md has no plan")
	}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("POSTGRES_DSN", "postgres://me@127.0.0.1:1/test")
	if c := isohound(t, "hunt", file, "--list", "--out", t.TempDir()+"/none"); c.code != 0 {
		t.Errorf("the plan of docs/hunt.md: exit code %d\n%s%s", c.code, c.out, c.msg)
	}
}
