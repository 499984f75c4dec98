//go:build linux

package cudatest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// translate translates the PTX of a module to C, one instruction per line, so that the output of
// nvcc can be tested too. It knows the instructions that the kernels use, and fails on others.
func translate(ptx string) (string, error) {
	var c strings.Builder
	for _, m := range regexp.MustCompile(`(?s)\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n`).FindAllStringSubmatch(ptx, -1) {
		f := &function{name: m[1], at: map[string]int{}}
		var body strings.Builder
		for _, line := range strings.Split(m[2], "\n") {
			text, err := f.line(strings.TrimSpace(line))
			if err != nil {
				return "", fmt.Errorf("%s: %w: %s", f.name, err, line)
			}
			body.WriteString(text)
		}
		fmt.Fprintf(&c, "static void run_%s(void **args)\n{\n#define WINDOW %d\n%s}\n#undef WINDOW\n", f.name, f.shared, body.String())
	}
	return c.String(), nil
}

// function is a kernel being translated to C.
type function struct {
	name   string
	at     map[string]int // offsets of shared variables
	shared int            // bytes
}

var (
	shared    = regexp.MustCompile(`^\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];$`)
	registers = regexp.MustCompile(`^\.reg \.(pred|b16|b32|b64)\s+%(\w+)<(\d+)>;$`)
	label     = regexp.MustCompile(`^\$(\w+):$`)
	statement = regexp.MustCompile(`^(?:@(!?)%(p\d+) )?([\w.]+)(?:\s+(.*))?;$`)
	operand   = regexp.MustCompile(`\{[^}]*\}|\[[^]]*\]|[^,\s]+`)
	address   = regexp.MustCompile(`^\[(%\w+|\w+)(?:\+(-?\d+))?\]$`)
)

func (f *function) line(s string) (string, error) {
	if s == "" || strings.HasPrefix(s, "//") || strings.HasPrefix(s, ".pragma") {
		return "", nil
	}
	if m := shared.FindStringSubmatch(s); m != nil {
		align, _ := strconv.Atoi(m[1])
		size, _ := strconv.Atoi(m[3])
		f.shared = (f.shared + align - 1) / align * align
		f.at[m[2]] = f.shared
		f.shared += size
		return "", nil
	}
	if m := registers.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[3])
		kind := map[string]string{"pred": "int", "b16": "u16", "b32": "u32", "b64": "u64"}[m[1]]
		var c strings.Builder
		for i := 1; i < n; i++ {
			fmt.Fprintf(&c, "    %s %s%d = 0;\n", kind, m[2], i)
		}
		return c.String(), nil
	}
	if m := label.FindStringSubmatch(s); m != nil {
		return m[1] + ":;\n", nil
	}
	m := statement.FindStringSubmatch(s)
	if m == nil {
		return "", fmt.Errorf("no statement of PTX that is known")
	}
	c, err := f.instruction(m[3], operand.FindAllString(m[4], -1))
	if err == nil && m[2] != "" {
		c = fmt.Sprintf("if (%s%s) { %s }", m[1], m[2], c)
	}
	return "    " + c + "\n", err
}

// patterns are instructions as C: T is the type, S the source type of a conversion, W the width
// in bits; a to d are the operands after the first, and to is the first.
var patterns = func() map[string]*template.Template {
	all := map[string]*template.Template{}
	for op, c := range map[string]string{
		"add": "(u{{.W}})({{.A}}) + (u{{.W}})({{.B}})", "sub": "(u{{.W}})({{.A}}) - (u{{.W}})({{.B}})",
		"and": "({{.A}}) & ({{.B}})", "or": "({{.A}}) | ({{.B}})", "xor": "({{.A}}) ^ ({{.B}})",
		"mul.lo": "(u{{.W}})({{.A}}) * (u{{.W}})({{.B}})", "mad.lo": "(u{{.W}})({{.A}}) * (u{{.W}})({{.B}}) + (u{{.W}})({{.C}})",
		"mul.wide": "({{.Sign}}64)({{.T}})({{.A}}) * ({{.Sign}}64)({{.T}})({{.B}})",
		"shl":      "(u32)({{.B}}) >= {{.W}} ? 0 : (u{{.W}})({{.A}}) << ((u32)({{.B}}) & 63)",
		"shr":      "({{.T}})({{.A}}) >> ((u32)({{.B}}) >= {{.W}} ? {{.W}} - 1 : (u32)({{.B}}))",
		"neg":      "0 - (u{{.W}})({{.A}})", "not": "~({{.A}})", "mov": "{{.A}}", "cvta.to.global": "{{.A}}",
		"max": "({{.T}})({{.A}}) > ({{.T}})({{.B}}) ? ({{.A}}) : ({{.B}})", "min": "({{.T}})({{.A}}) < ({{.T}})({{.B}}) ? ({{.A}}) : ({{.B}})",
		"div": "({{.T}})({{.A}}) / ({{.T}})({{.B}})", "rem": "({{.T}})({{.A}}) % ({{.T}})({{.B}})",
		"selp": "({{.C}}) ? ({{.A}}) : ({{.B}})", "cvt": "({{.S}})({{.T}})({{.A}})",
		"popc": "__builtin_popcountll((u{{.W}})({{.A}}))", "brev": "fake_reverse({{.A}})",
		"clz":            "({{.A}}) ? __builtin_clzll({{.A}}) - (64 - {{.W}}) : {{.W}}",
		"bfind.shiftamt": "({{.A}}) ? __builtin_clz({{.A}}) : ~0u",
		"bfe":            "(({{.A}}) >> ({{.B}})) & ((1u << ({{.C}})) - 1)",
		"bfi":            "(({{.B}}) & ~(((1u << ({{.D}})) - 1) << ({{.C}}))) | ((({{.A}}) & ((1u << ({{.D}})) - 1)) << ({{.C}}))",
		"setp.eq":        "({{.T}})({{.A}}) == ({{.T}})({{.B}})", "setp.ne": "({{.T}})({{.A}}) != ({{.T}})({{.B}})",
		"setp.lt": "({{.T}})({{.A}}) < ({{.T}})({{.B}})", "setp.le": "({{.T}})({{.A}}) <= ({{.T}})({{.B}})",
		"setp.gt": "({{.T}})({{.A}}) > ({{.T}})({{.B}})", "setp.ge": "({{.T}})({{.A}}) >= ({{.T}})({{.B}})",
		"atom.global.or":  "__atomic_fetch_or(({{.T}} *){{.A}}, {{.B}}, __ATOMIC_RELAXED)",
		"atom.global.add": "__atomic_fetch_add(({{.T}} *){{.A}}, {{.B}}, __ATOMIC_RELAXED)",
		// The same for predicates.
		"and.pred": "({{.A}}) && ({{.B}})", "or.pred": "({{.A}}) || ({{.B}})", "xor.pred": "!({{.A}}) != !({{.B}})",
		"not.pred": "!({{.A}})", "mov.pred": "({{.A}}) != 0",
	} {
		all[op] = template.Must(template.New(op).Parse(c))
	}
	return all
}()

func (f *function) instruction(op string, args []string) (string, error) {
	switch op {
	case "ret":
		return "return;", nil
	case "bra", "bra.uni":
		return "goto " + strings.TrimPrefix(args[0], "$") + ";", nil
	case "bar.sync":
		return "fake_barrier();", nil
	case "vote.sync.ballot.b32":
		return fmt.Sprintf("%s = fake_ballot(%s);", f.value(args[0]), f.value(args[1])), nil
	}
	kind := op[strings.LastIndex(op, ".")+1:]
	base := strings.TrimSuffix(op, "."+kind)
	if strings.HasPrefix(op, "ld.") || strings.HasPrefix(op, "st.") {
		return f.move(base, ctype(kind), args)
	}
	if kind == "pred" {
		base = op
	}
	in := map[string]string{"T": ctype(kind), "W": strings.TrimLeft(kind, "bsu"), "Sign": ctype(kind)[:1]}
	if strings.HasPrefix(op, "cvt.") && base != "cvta.to.global" {
		in["S"] = ctype(strings.TrimPrefix(base, "cvt."))
		base = "cvt"
	}
	for i, a := range args[1:] {
		if strings.HasPrefix(a, "[") {
			a = f.place(op, a)
		}
		in[string(rune('A'+i))] = f.value(a)
	}
	pattern := patterns[base]
	if pattern == nil {
		return "", fmt.Errorf("no instruction of PTX that is known")
	}
	var c strings.Builder
	if err := pattern.Execute(&c, in); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s = %s;", f.value(args[0]), c.String()), nil
}

// ctype returns the C type; bit types count as unsigned.
func ctype(kind string) string { return strings.Replace(kind, "b", "u", 1) }

// move translates a load or a store, also of vectors.
func (f *function) move(op, kind string, args []string) (string, error) {
	load := strings.HasPrefix(op, "ld.")
	values, at := args[0], args[len(args)-1]
	if !load {
		values, at = at, args[0]
	}
	var c strings.Builder
	for i, v := range strings.Split(strings.Trim(values, "{}"), ",") {
		v = f.value(strings.TrimSpace(v))
		place := fmt.Sprintf("((%s *)%s)[%d]", kind, f.place(op, at), i)
		if load {
			fmt.Fprintf(&c, "%s = %s; ", v, place)
		} else {
			fmt.Fprintf(&c, "%s = %s; ", place, v)
		}
	}
	// The addresses of vectors are multiples of their size.
	size := map[bool]int{true: 1}[strings.HasSuffix(op, ".v2")]*2 + map[bool]int{true: 1}[strings.HasSuffix(op, ".v4")]*4
	return fmt.Sprintf("fake_aligned(%s, %d * sizeof(%s)); %s", f.place(op, at), max(1, size), kind, c.String()), nil
}

// place returns the address of a load or store.
func (f *function) place(op, at string) string {
	m := address.FindStringSubmatch(at)
	if i := strings.LastIndex(m[1], "_param_"); strings.Contains(op, ".param") && i >= 0 {
		return "args[" + m[1][i+len("_param_"):] + "]"
	}
	offset := m[2]
	if offset == "" {
		offset = "0"
	}
	if strings.Contains(op, ".shared") {
		return fmt.Sprintf("fake_window((u64)%s + (%s), WINDOW)", f.value(m[1]), offset)
	}
	return fmt.Sprintf("(%s + (%s))", f.value(m[1]), offset)
}

// value returns an operand: a register, a number, or the address of a shared variable.
func (f *function) value(s string) string {
	if at, ok := f.at[s]; ok {
		return strconv.Itoa(at)
	}
	for special, c := range map[string]string{"%tid.": "fake_thread.", "%ntid.": "fake_threads.", "%ctaid.": "fake_block.", "%nctaid.": "fake_blocks."} {
		if axis, ok := strings.CutPrefix(s, special); ok {
			return c + axis
		}
	}
	return strings.Replace(s, "%", "", 1)
}
