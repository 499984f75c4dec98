package workloads

// ByPreset is the default of a parameter that a preset sets, unless the user does. Another
// parameter names the preset.
const ByPreset = "by preset"

// Adopt sets the parameters of a preset that the user has not set, so that the effective values
// are printed and recorded.
func (v Values) Adopt(preset Values) {
	for name, value := range preset {
		if v[name] == ByPreset {
			v[name] = value
		}
	}
}
