package envtest

// checkEnd: an episode begins with Reset, and nothing follows its end.
func checkEnd(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	// A legal action for an environment that has not been reset, taken from one that has.
	other, err := c.newDriver()
	if err != nil {
		return err
	}
	if err := other.reset(c.Seeds[0], 0); err != nil {
		return err
	}
	if err := other.choose(); err != nil {
		return err
	}
	if d.env.Step(other.act, d.obs, d.out) == nil {
		c.report("Step before the first Reset was accepted")
	}
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		if err := d.walk(c.Steps, nil); err != nil {
			return err
		}
		if !d.ended() {
			continue
		}
		for range 2 {
			if d.env.Step(d.act, d.obs, d.out) == nil {
				c.report("seed %d: Step after the episode's end (terminated or truncated at step %d) was accepted, want an error until Reset",
					seed, d.steps)
				return nil
			}
		}
	}
	return nil
}

// checkTruncation: no episode is longer than MaxSteps, and one that is cut there is truncated, not terminated.
func checkTruncation(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	most := d.spec.MaxSteps
	if most == 0 || most > c.Steps {
		return nil
	}
	reached, truncated := 0, 0
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		if err := d.walk(most, nil); err != nil {
			return err
		}
		if !d.ended() {
			c.report("seed %d: the episode goes on after %d steps, which the spec says is the most", seed, most)
			return nil
		}
		if d.steps == most {
			reached++
			if d.out.Truncated {
				truncated++
			}
		}
	}
	if reached > 1 && truncated == 0 {
		c.report("all %d episodes of %d steps, the most there are, ended as terminated; a time limit truncates", reached,
			most)
	}
	return nil
}
