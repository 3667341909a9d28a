package envtest

// checkEnd checks that Step is refused before the first Reset and after the end of an episode.
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
		c.report("Step before the first Reset was accepted, want an error")
	}
	for _, seed := range c.Seeds {
		if err := d.reset(seed, seed); err != nil {
			return err
		}
		if err := d.run(c.Steps, nil); err != nil {
			return err
		}
		if !d.ended() {
			continue
		}
		for range 2 {
			if d.env.Step(d.act, d.obs, d.out) == nil {
				c.report("seed %d: Step after the episode's end (terminated or truncated at step %d) was accepted, "+
					"want an error until Reset", seed, d.steps)
				return nil
			}
		}
	}
	return nil
}

// checkTruncation checks that no episode is longer than MaxSteps, and that the time limit truncates and does not
// terminate.
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
		if err := d.run(most, nil); err != nil {
			return err
		}
		if !d.ended() {
			c.report("seed %d: the episode continues after %d steps, want it to end there: MaxSteps", seed, most)
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
		c.report("all %d episodes of MaxSteps = %d steps were terminated; a time limit must truncate", reached, most)
	}
	return nil
}
