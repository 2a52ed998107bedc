package envelope

// SameCitation is what tells two citations apart whose hashes are the same.
func SameCitation(a, b any) bool {
	var c, d citation
	_, _ = c.resolve(a, "", lineQuoter), d.resolve(b, "", lineQuoter)
	return c.equal(&d)
}

// OpenEachWay opens a text as written, with nil for one that is left to the strict way, and in the
// strict way alone.
func (j JSON) OpenEachWay(text string) (written, strict []Delivered, err error) {
	w, err := j.writer()
	if err != nil {
		return nil, nil, err
	}
	if o := w.openWritten(text, j.Scope); o != nil {
		written = o.items
	}
	o, err := w.openStrict(text, j.Scope)
	if err != nil {
		return written, nil, err
	}
	return written, o.items, nil
}
