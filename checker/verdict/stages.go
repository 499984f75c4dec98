package verdict

import "time"

// Stages reports the parts of a check as they begin, and records in a result how long each took.
type Stages struct {
	r    *Result
	tell func(stage string) // nil if nobody listens
	last time.Time
}

// NewStages starts the clock of a check that fills r.
func NewStages(r *Result, tell func(stage string)) *Stages {
	return &Stages{r, tell, time.Now()}
}

// Begin announces a stage.
func (s *Stages) Begin(stage string) {
	if s.tell != nil {
		s.tell(stage)
	}
}

// Done records the time since the previous stage.
func (s *Stages) Done(stage string) {
	now := time.Now()
	s.r.Stages = append(s.r.Stages, Stage{Name: stage, Took: now.Sub(s.last)})
	s.last = now
}
