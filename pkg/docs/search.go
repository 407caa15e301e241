package docs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Hit is a topic that [Search] found.
type Hit struct {
	Topic

	Line string // the first line with the word, or what the topic is about
}

// Search returns the topics for a word, the best first: synonyms, then names and titles, then
// descriptions, headings and texts.
func Search(word string) (hits []Hit) {
	if word = strings.TrimSpace(word); word == "" {
		return nil
	}
	const bySynonym, byName, byAbout, byHeading, mostByText = 1000, 200, 100, 20, 60
	isWord := regexp.MustCompile(`(?i)(^|\W)` + regexp.QuoteMeta(word) + `(\W|$)`)
	known, scores := synonyms(strings.ToLower(word)), map[string]int{}
	for _, topic := range Topics() {
		hit, score, count := Hit{topic, topic.About}, 0, 0
		if i := slices.Index(known, topic.Name); i >= 0 {
			score += bySynonym / (1 + i)
		}
		if isWord.MatchString(topic.Name + " " + topic.Title) {
			score += byName
		}
		if isWord.MatchString(topic.About) {
			score += byAbout
		}
		for line := range strings.Lines(topic.Text) {
			if !isWord.MatchString(line) {
				continue
			}
			if count++; count == 1 && !strings.HasPrefix(line, "# ") {
				hit.Line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "#|-"))
			}
			if strings.HasPrefix(line, "##") {
				score += byHeading
			}
		}
		if score += min(count, mostByText); score > 0 {
			scores[topic.Name] = score
			hits = append(hits, hit)
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(scores[b.Name], scores[a.Name]) })
	return hits
}

// synonyms returns the topics for words that other products use, or that many pages have.
func synonyms(word string) (topics []string) {
	switch word {
	case "approval", "approve", "human", "person", "token", "tokens", "webhook", "waitfortasktoken":
		return []string{"callbacks"}
	case "map", "loop", "iterate":
		return []string{"foreach", "asl"}
	case "sleep", "delay", "timer":
		return []string{"wait"}
	case "timeout", "timeouts":
		return []string{"task", "callbacks", "errors"}
	case "retries", "backoff":
		return []string{"retry"}
	case "price", "prices", "pricing":
		return []string{"cost"}
	case "backup", "restore":
		return []string{"recovery", "store"}
	case "encryption", "encrypt", "secrets", "kms":
		return []string{"security"}
	case "docker", "container", "containers", "lambda":
		return []string{"runners", "aws"}
	case "embed", "library", "golang":
		return []string{"testing"}
	case "cron":
		return []string{"schedules"}
	case "switch", "if":
		return []string{"choice"}
	case "deploy", "install":
		return []string{"aws", "parameters"}
	case "child", "nested":
		return []string{"subflow"}
	case "query":
		return []string{"jsonata", "data"}
	}
	return nil
}
