package cli

import (
	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
)

func (a *app) schemaCommand() *cobra.Command {
	var file bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Long: `Print the JSON Schema of the configuration, by which editors complete and check
it as it is written. The connectors of this program are in it, your own too.

Editors that use the YAML language server (VS Code with the extension YAML,
Neovim, Emacs, Helix and others) take it from a line in the file, with a URL or
a path from the file's folder:

  # yaml-language-server: $schema=./syncd.schema.json

VS Code also takes it for files by their names, in settings.json:

  "yaml.schemas": { "./syncd.schema.json": "syncd*.yaml" }

In the IDEs of JetBrains it is added under Settings, Languages & Frameworks,
Schemas and DTDs, JSON Schema Mappings.

The schema takes every configuration that is right. What an editor cannot see (a
time zone that there is, an environment variable that is set) syncd check finds.`,
		Example: `  syncd schema > syncd.schema.json                of the configuration
  syncd schema --provider > provider.schema.json  of a provider file`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			schema := config.Schema
			if file {
				schema = config.FileSchema
			}
			text, err := schema(a.connectors)
			if err == nil {
				_, err = a.Out.Write(text)
			}
			return err
		},
	}
	c.Flags().BoolVar(&file, "provider", false, "of a provider file")
	return c
}
