package main

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func init() {
	register.Combiner2[totals, report](&totalsFn{})
	register.Function1x2(encodeTotals)
	beam.RegisterType(reflect.TypeFor[totals]())
}

// totals is what is known of all logs.
type totals struct {
	Files      int64            `json:"files"`
	Damaged    int64            `json:"damaged"`    // files with a fault
	Repaired   int64            `json:"repaired"`   // files
	Unreadable int64            `json:"unreadable"` // files with an error
	Records    int64            `json:"records"`
	Recovered  int64            `json:"recovered"`
	Faults     map[string]int64 `json:"faults"`
}

// totalsFn adds reports up.
type totalsFn struct{}

func (*totalsFn) CreateAccumulator() totals { return totals{Faults: map[string]int64{}} }

func (*totalsFn) AddInput(t totals, r report) totals {
	one := totals{Files: 1, Records: r.Records, Recovered: r.Recovered, Faults: r.Faults}
	if len(r.Faults) > 0 {
		one.Damaged = 1
	}
	if r.Repaired != "" {
		one.Repaired = 1
	}
	if r.Error != "" {
		one.Unreadable = 1
	}
	return t.plus(one)
}

func (*totalsFn) MergeAccumulators(a, b totals) totals { return a.plus(b) }

// plus is a new value: the engine keeps the old ones.
func (t totals) plus(o totals) totals {
	faults := map[string]int64{}
	maps.Copy(faults, t.Faults)
	for kind, n := range o.Faults {
		faults[kind] += n
	}
	return totals{
		Files:      t.Files + o.Files,
		Damaged:    t.Damaged + o.Damaged,
		Repaired:   t.Repaired + o.Repaired,
		Unreadable: t.Unreadable + o.Unreadable,
		Records:    t.Records + o.Records,
		Recovered:  t.Recovered + o.Recovered,
		Faults:     faults,
	}
}

func encodeTotals(t totals) (string, error) {
	data, err := json.Marshal(t)
	return string(data), err
}
