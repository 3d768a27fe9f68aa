package csv

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// A feed at a URL, whose rows change between two downloads and in mid-walk: the
// provider has no pages, the connector cuts them.
func TestSuite(t *testing.T) {
	const columns = "id,rev,changed"
	row := func(it connectortest.Item) string {
		return fmt.Sprintf("%s,%d,%s", it.ID, it.Rev, it.Changed.Format("2006-01-02T15:04:05Z"))
	}
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Options: func() syncd.Options {
			o := Defaults()
			o.Path, o.Key, o.Mark, o.PageRows = "https://vendor.example/feeds/rows.csv", []string{"id"}, "changed", 4
			o.AllowEmpty = true
			return o
		},
		Fake: func(w *connectortest.World) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/csv")
				rows := append([]string{columns}, w.Each(w.Items("rows", ""), row)...)
				fmt.Fprint(rw, strings.Join(rows, "\n")+"\n")
			})
		},
		Streams: map[string]connectortest.Facts{"rows": {
			OnePage: true,
			Data: func(row string) string {
				f := strings.Split(row, ",")
				return fmt.Sprintf(`{"id":%q,"rev":%q,"changed":%q}`, f[0], f[1], f[2])
			},
		}},
	})
}
