package modeldb

import "context"

// ReadOne implements drivers.LWT.
func (s session) ReadOne(_ context.Context, key string) (int64, bool, error) {
	v, found := s.d.keys[key]
	return v, found, nil
}

// InsertIfAbsent implements drivers.LWT.
func (s session) InsertIfAbsent(_ context.Context, key string, value int64) (bool, error) {
	if _, there := s.d.keys[key]; there {
		return false, nil
	}
	s.d.keys[key] = value
	return true, nil
}

// CompareAndSet implements drivers.LWT.
func (s session) CompareAndSet(_ context.Context, key string, old, value int64) (bool, error) {
	if v, there := s.d.keys[key]; !there || v != old {
		return false, nil
	}
	s.d.keys[key] = value
	return true, nil
}
