package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// warnings says what may surprise in a valid expression. The words are the five
// fields as they were written.
func warnings(words []string, spec *cron.SpecSchedule) []string {
	var list []string
	if spec.Dom&star == 0 && spec.Dow&star == 0 {
		list = append(list, either(words[2], words[4]))
	}
	sizes := [3]int{60, 24, 0}
	units := [3]string{"the hour", "the day", "each month"}
	for i, size := range sizes {
		step, ok := starStep(words[i])
		if ok && step > 1 && (size == 0 || size%step != 0) {
			list = append(list, fmt.Sprintf("the %s %q starts again with %s, so the last distance is not %d: use @every for even distances",
				fields[i].name, words[i], units[i], step))
		}
	}
	if text, ok := shortMonths(spec); ok {
		list = append(list, text)
	}
	return list
}

// either explains the day fields where both are given.
func either(dom, dow string) string {
	text := fmt.Sprintf("day of month %q and day of week %q are both given: it fires on days that match either, not only on days that match both; put * in one of them if that is not meant", dom, dow)
	if strings.Contains(dom, "*/") || strings.Contains(dow, "*/") {
		text += " (a step such as */2 counts as given, which other schedulers see differently)"
	}
	return text
}

// starStep returns the N of a field that is */N.
func starStep(text string) (int, bool) {
	step, ok := strings.CutPrefix(text, "*/")
	if !ok {
		return 0, false
	}
	return number(step)
}

// shortMonths warns of a schedule for days that some of its months do not have.
func shortMonths(spec *cron.SpecSchedule) (string, bool) {
	if spec.Dom&star != 0 || spec.Dow&star == 0 {
		return "", false
	}
	day, _ := bitFrom(spec.Dom, 0)
	if day <= 28 {
		return "", false
	}
	var without []string
	for m := time.January; m <= time.December; m++ {
		switch {
		case spec.Month&(1<<m) == 0:
		case m == time.February && day == 29:
			without = append(without, "February of most years")
		case day > longest(m):
			without = append(without, m.String())
		}
	}
	if len(without) == 0 {
		return "", false
	}
	return fmt.Sprintf("there is no day %d in %s: nothing fires then; use 28 or less to fire in every month", day, strings.Join(without, ", ")), true
}
