package envelope

// SameCitation is what tells two citations apart whose hashes are the same.
func SameCitation(a, b any) bool {
	var c, d citation
	_, _ = c.resolve(a, "", lineQuoter), d.resolve(b, "", lineQuoter)
	return c.equal(&d)
}
