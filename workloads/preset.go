package workloads

// ByPreset is the default of a parameter whose value another parameter, which
// names a preset, decides unless the user does.
const ByPreset = "by preset"

// Adopt sets what a preset decides and the user has not, so that the values
// that are in effect are printed and recorded.
func (v Values) Adopt(preset Values) {
	for name, value := range preset {
		if v[name] == ByPreset {
			v[name] = value
		}
	}
}
