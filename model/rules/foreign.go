package rules

func (r *reading) foreign(s *sentence) {}
