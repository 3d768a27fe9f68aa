package cli

import "github.com/spf13/cobra"

// completions adds the command that writes completion scripts, which is
// cobra's, with how each shell takes them.
func (a *app) completions(root *cobra.Command) {
	root.SetOut(a.Out) // cobra's command writes to what it finds now
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra adds it to every root with commands under it
	}
	c.Short = "Write a script that completes commands, users, providers and ids in a shell"
	c.Example = `  source <(syncd completion bash)                                  in this shell
  syncd completion bash > /etc/bash_completion.d/syncd             in every shell
  syncd completion zsh > "${fpath[1]}/_syncd"
  syncd completion fish > ~/.config/fish/completions/syncd.fish
  syncd completion powershell | Out-String | Invoke-Expression`
	how := map[string]string{
		"bash":       "  source <(syncd completion bash)\n  syncd completion bash > /etc/bash_completion.d/syncd",
		"zsh":        "  source <(syncd completion zsh)\n  syncd completion zsh > \"${fpath[1]}/_syncd\"",
		"fish":       "  syncd completion fish | source\n  syncd completion fish > ~/.config/fish/completions/syncd.fish",
		"powershell": "  syncd completion powershell | Out-String | Invoke-Expression",
	}
	for _, shell := range c.Commands() {
		shell.Example = how[shell.Name()]
	}
}
