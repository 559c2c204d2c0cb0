package recall

// Cut is what fits a token budget.
type Cut struct {
	Kept []int // places of the items kept, in order
	Left []int // places of the items left out, in order
	Used int   // tokens of the items kept
}

// Fit keeps whole items within a budget, the first ones first; an item that is
// too large is left out and smaller ones after it may still fit. Nothing is cut
// short. It returns ErrBudget for a negative budget or cost.
func Fit(costs []int, budget int) (Cut, error) {
	if budget < 0 {
		return Cut{}, ErrBudget
	}
	var c Cut
	for i, n := range costs {
		switch {
		case n < 0:
			return Cut{}, ErrBudget
		case n <= budget-c.Used:
			c.Kept = append(c.Kept, i)
			c.Used += n
		default:
			c.Left = append(c.Left, i)
		}
	}
	return c, nil
}
