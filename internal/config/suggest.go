package config

import (
	"slices"
	"strings"
)

// synonyms are words that people use for ours.
var synonyms = map[string]string{
	"cron": "schedule", "interval": "schedule", "every": "schedule",
	"tz": "timezone", "time_zone": "timezone", "zone": "timezone",
	"user_id": "user", "tenant": "user", "id": "user",
	"type": "connector", "kind": "connector",
	"url": "base_url", "endpoint": "base_url",
	"token": "credentials", "secrets": "credentials", "auth": "credentials",
	"database": "store", "dsn": "store", "concurrency": "workers",
	"settings": "options", "config": "options", "params": "options",
}

// suggest returns the known word that the given one was meant to be, or "".
func suggest(word string, known []string) string {
	plain := strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(word))
	if slices.Contains(known, plain) {
		return plain
	}
	best, least := "", max(1, min(3, len(word)/3))+1
	for _, k := range known {
		if d := distance(plain, strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	if slices.Contains(known, synonyms[plain]) {
		return synonyms[plain]
	}
	for other, k := range synonyms {
		if len(other) > 3 && distance(plain, other, 2) < 2 && slices.Contains(known, k) {
			return k
		}
	}
	return ""
}

// didYouMean makes the hint to a word that is not known.
func didYouMean(word string, known []string) string {
	if s := suggest(word, known); s != "" && word != "" {
		return "did you mean " + s + "?"
	}
	switch {
	case len(known) == 0:
		return "there are none to be set"
	case len(known) > 20:
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// distance counts the letters to be added, removed, changed or swapped with
// their neighbour to make b of a; limit if that many or more.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
