package catalogue

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// YAML is the text of the file of a scenario, without the keys that have no value. The error says why it would not be a
// scenario that can run.
func (s *Scenario) YAML() ([]byte, error) {
	text, err := s.Draft()
	if err != nil {
		return nil, err
	}
	again, d := read(s.Name+".yaml", text)
	if d.Root != nil {
		d.validate(again)
	}
	return text, d.Err()
}

// Draft is the scenario's file where something may be missing yet, such as what is expected.
func (s *Scenario) Draft() ([]byte, error) {
	var n yaml.Node
	if err := n.Encode(s); err != nil {
		return nil, err
	}
	prune(&n)
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// prune removes keys whose values are empty or 0, but for retries: there 0 says something. It reports whether nothing
// is left.
func prune(n *yaml.Node) bool {
	switch n.Kind {
	case yaml.ScalarNode:
		return n.Tag == "!!null" || n.Value == "" || n.Value == "0" && n.Tag != "!!str"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			prune(item)
		}
	case yaml.MappingNode:
		var kept []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if !prune(value) || key.Value == "retries" && value.Tag != "!!null" {
				kept = append(kept, key, value)
			}
		}
		n.Content = kept
	}
	return len(n.Content) == 0
}

// MarshalYAML is the inverse of UnmarshalYAML.
func (d Duration) MarshalYAML() (any, error) {
	if d == 0 {
		return nil, nil
	}
	return d.String(), nil
}
