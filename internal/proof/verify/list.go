package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/internal/proof"
)

// list prints the table.
func list(asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(proof.Table())
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tMINUTES\tCLAIMS")
	for _, p := range proof.Table() {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s", p.Name, p.Kind, p.Minutes, p.Claims)
		if len(p.Needs) > 0 {
			fmt.Fprintf(w, " Needs %s.", needs(p.Needs))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Println("\nmake verify NAME=… runs one of them, make verify all of them.")
	return nil
}

func needs(all []proof.Need) string {
	var text []string
	for _, n := range all {
		if n.Env != "" {
			text = append(text, n.Env+" ("+n.Text+")")
		} else {
			text = append(text, n.Text)
		}
	}
	return strings.Join(text, ", ")
}
