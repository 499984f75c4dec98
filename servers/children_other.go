//go:build !linux

package servers

const canKillAll = false

func (p *process) killAll() { p.Kill() }
