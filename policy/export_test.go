package policy

// Hold takes a worker until the function that it returns is called.
func Hold(p *Policy) (release func()) {
	w := <-p.free
	return func() { p.free <- w }
}
