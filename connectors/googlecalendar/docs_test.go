package googlecalendar

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/syncdhq/syncd/internal/pgtest"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "google_calendar.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every option says what it does, and has its row in the documentation.
func TestDocumented(t *testing.T) {
	options := reflect.TypeFor[Options]()
	for i := range options.NumField() {
		tag := options.Field(i).Tag
		if tag.Get("yaml") == "" || tag.Get("doc") == "" || !strings.Contains(page(t), "\n| `"+tag.Get("yaml")+"` |") {
			t.Errorf("%s: yaml %q, doc %q, or no row in docs/google_calendar.md", options.Field(i).Name, tag.Get("yaml"), tag.Get("doc"))
		}
	}
}

// The query of the documentation finds what takes place: neither cancelled
// occurrences, nor what is left of deleted recurring events.
func TestDocumentedQuery(t *testing.T) {
	_, query, ok := strings.Cut(page(t), "```sql\n")
	query, _, _ = strings.Cut(query, "```")
	if !ok {
		t.Fatal("the page has no query")
	}
	ctx := context.Background()
	db, err := pgx.Connect(ctx, pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	_, err = db.Exec(ctx, `
		CREATE TABLE records (user_id text, provider text, stream text, external_id text, data json, deleted_at timestamptz);
		INSERT INTO records SELECT 'alice', 'google_calendar', 'events', 'events/' || calendar || '/' || id,
			CASE WHEN parent = '' THEN json_build_object('id', calendar || id, 'status', status)
			ELSE json_build_object('id', calendar || id, 'status', status, 'recurringEventId', parent) END,
			CASE WHEN gone THEN now() END
		FROM (VALUES
			('a@x', 'once', 'confirmed', '', false), ('a@x', 'away', 'confirmed', '', true),
			('a@x', 'week', 'confirmed', '', false), ('a@x', 'week_1', 'cancelled', 'week', false), ('a@x', 'week_2', 'confirmed', 'week', false),
			('a@x', 'past', 'confirmed', '', true), ('a@x', 'past_1', 'cancelled', 'past', false), ('a@x', 'past_2', 'tentative', 'past', false),
			('a@x', 'elsewhere_1', 'confirmed', 'elsewhere', false),
			('b@x', 'past', 'confirmed', '', false), ('b@x', 'past_2', 'confirmed', 'past', false)
		) AS v(calendar, id, status, parent, gone);
		INSERT INTO records VALUES ('alice', 'google_calendar', 'calendars', 'calendars/a@x', '{"id":"a@x"}', NULL)`)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(ctx, "SELECT data->>'id' FROM ("+strings.TrimSuffix(strings.TrimSpace(query), ";")+") AS found ORDER BY data->>'id' COLLATE \"C\"")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{"a@xelsewhere_1", "a@xonce", "a@xweek", "a@xweek_2", "b@xpast", "b@xpast_2"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
