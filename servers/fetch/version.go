package fetch

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is the version of a package.
type Version struct {
	text string
	// parts are major, minor, patch, stage, number of the stage. They are ordered as npm orders versions.
	parts []int
}

// stages of a version; a version without one comes after all that have one.
var stages = []string{"alpha", "beta", "rc", ""}

var versionForm = regexp.MustCompile(`^(\d{1,6})(?:\.(\d{1,6})(?:\.(\d{1,6})(?:-([a-z]+)\.(\d{1,6}))?)?)?$`)

// numbers are those of a version that may leave out its end, nil if it is none.
func numbers(text string) []int {
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var out []int
	for n, part := range m[1:] {
		switch {
		case part == "":
			return out
		case n == 3:
			stage := slices.Index(stages, part)
			if stage < 0 {
				return nil
			}
			out = append(out, stage)
		default:
			i, _ := strconv.Atoi(part)
			out = append(out, i)
		}
	}
	return out
}

// parseVersion reads the version of a package. Versions of another form are of no use here, and neither are the alphas of 14.3:
// they lack the links of their libraries, so that the server does not start.
func parseVersion(text string) (Version, bool) {
	parts := numbers(text)
	if len(parts) == 3 {
		parts = append(parts, len(stages)-1, 0)
	}
	return Version{text, parts}, len(parts) == 5 && stages[parts[3]] != "alpha"
}

// String is the version of the package, such as 18.4.0-beta.17.
func (v Version) String() string { return v.text }

// Postgres is the version of PostgreSQL in the package, such as 18.4.
func (v Version) Postgres() string { return fmt.Sprintf("%d.%d", v.parts[0], v.parts[1]) }

// ParseError is about a version that is none.
type ParseError struct{ Text string }

func (e *ParseError) Error() string {
	return fmt.Sprintf("%q is no version of PostgreSQL; expected one such as 18.4, 18 for the newest of 18, or that of a package, such as 18.4.0-beta.17", e.Text)
}

// oldest is the oldest major version of which there are packages. There will be none of older ones.
const oldest = 10

// NoPackageError is about a version of which there is no package.
type NoPackageError struct{ Version, Nearest string }

func (e *NoPackageError) Error() string {
	return fmt.Sprintf("there is no package of PostgreSQL %s; the nearest are of %s", e.Version, e.Nearest)
}

// Check returns an error if a version cannot be meant, or is too old. It does not ask whether there is such a version.
func Check(version string) error {
	switch wanted := numbers(version); {
	case wanted == nil:
		return &ParseError{version}
	case wanted[0] < oldest:
		return fmt.Errorf("there is no package of PostgreSQL %s; the oldest are of %d", version, oldest)
	}
	return nil
}

// meant reports whether a version that may leave out its end means v.
func (v Version) meant(wanted []int) bool {
	return len(wanted) <= len(v.parts) && slices.Equal(v.parts[:len(wanted)], wanted)
}

func compare(a, b Version) int { return slices.Compare(a.parts, b.parts) }

// newest returns the newest of the versions that are meant, and whether there is one.
func newest(all []Version, wanted []int) (Version, bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(v Version) bool { return !v.meant(wanted) })
	if len(all) == 0 {
		return Version{}, false
	}
	return slices.MaxFunc(all, compare), true
}

// maxNear bounds the versions that an error names.
const maxNear = 4

// near names the versions of PostgreSQL that are nearest to one that there is none of: of the same major version, or
// else the major versions.
func near(all []Version, wanted []int) string {
	of := func(text func(Version) string, keep func(Version) bool) []string {
		var out []string
		for _, v := range slices.SortedFunc(slices.Values(all), compare) {
			if t := text(v); keep(v) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
		return out
	}
	same := func(n int) func(Version) bool { return func(v Version) bool { return v.meant(wanted[:n]) } }
	if len(wanted) > 2 {
		if names := of(Version.String, same(2)); len(names) > 0 {
			return strings.Join(names, ", ")
		}
	}
	major := func(v Version) string { return strconv.Itoa(v.parts[0]) }
	if len(wanted) == 1 || len(of(major, same(1))) == 0 {
		return strings.Join(of(major, same(0)), ", ")
	}
	names := of(Version.Postgres, same(1))
	distance := func(name string) int {
		d := numbers(name)[1] - wanted[1]
		return max(d, -d)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	names = names[:min(len(names), maxNear)]
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(numbers(a), numbers(b)) })
	return strings.Join(names, ", ")
}
