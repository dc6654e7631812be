// Decodes a dashboard strictly into the types that Grafana publishes. A field or option that is unknown, missing or of another
// type is an error. The words of closed lists are strings there, and not checked.
//
// Usage: go run . FILE
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(file string) error {
	written, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// The options of panels and the queries of data sources.
	plugins.RegisterDefaultPlugins()
	// An empty list of errors is not nil in an interface, and the strict decoder then drops the panels.
	if err := new(dashboard.Dashboard).UnmarshalJSONStrict(written); err != nil && err.Error() != "" {
		return err
	}
	var decoded dashboard.Dashboard
	if err := json.Unmarshal(written, &decoded); err != nil {
		return err
	}
	if err := decoded.Validate(); err != nil && err.Error() != "" {
		return err
	}
	queries := 0
	for _, panel := range decoded.Panels {
		if panel.Panel != nil {
			queries += len(panel.Panel.Targets)
		}
	}
	if queries == 0 {
		return fmt.Errorf("%s has no queries", file)
	}
	fmt.Printf("%s: %d panels and rows, %d queries\n", file, len(decoded.Panels), queries)
	return nil
}
