package envelope

// SameCitation is what tells two citations apart whose hashes are the same.
func SameCitation(a, b any) bool {
	var c, d citation
	_, _ = c.resolve(a, ""), d.resolve(b, "")
	return c.equal(&d)
}
