// What Kubernetes' own library makes of amounts, as `quantity()` of its CEL asks it:
//
//	go run . > table.tsv
//
// A row is a text and what it is (whole number or -, number, sign, digits/scale), or two texts, their order, their sum and
// their difference. What starts with # is no text, but a number of 64 bits. More rows, of other texts:
//
//	go run . -rows 1000000 -seed 2
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Where reading is easily different. None of these is compared or added, nor is 1e-999999999 here: the library writes
// down all zeros.
var edges = []string{
	"", "+", "-", ".", "-.", "0", "00", "0.", ".0", "m", "k", "Ki", "Ti", "Pi", "Ei", "-Ei", "e3", ".e-10", "e-10", ".Ei",
	"0Ei", "1.2.3", "1 Gi", " 1", "1GiB", "1gi", "1K", "1e", "1E", "1e+", "1ee3", "1e3m", "1e+5", "1e-5", "1e_5", "1_0", "--1",
	"+-1", "1e99", "1e999999999", "0e999999999", "-1e999999999", "1e2147483647",
	"1e4294967296", "0.1e-2147483648", "1e9223372036854775807", "1e9223372036854775808", "0x1", "0b1", "٣", "1٣", "1e٣",
	"inf", "NaN", "1n", "0.1n", "1e-10", "1.0", "1000m", "0.000", "0e25",
}

// Where 64 bits end. As texts, the longest of them are not held as numbers of 64 bits.
var numbers = []string{
	"#-9223372036854775808", "#-9223372036854775807", "#-922337203685477581", "#-922337203685477580", "#-1", "#0", "#1",
	"#922337203685477580", "#922337203685477581", "#9223372036854775807",
}

// What they are added to and taken from, beside each other.
var others = []string{"1m", "-1m", "1k", "-1k", "1n", "0.000", "-9223372036854775808", "9223372036854775808", "1e20", "-1e20"}

var suffixes = []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K", "e", "x"}

func text(random *rand.Rand) string {
	var text strings.Builder
	text.WriteString([]string{"", "", "-", "+"}[random.Intn(4)])
	length := random.Intn(6)
	if random.Intn(2) == 0 {
		length = random.Intn(45)
	}
	dot := random.Intn(2*length + 2)
	for place := range length {
		if place == dot {
			text.WriteByte('.')
		}
		text.WriteByte("00099123456789"[random.Intn(14)])
	}
	if random.Intn(3) == 0 {
		fmt.Fprintf(&text, "%c%d", "eE"[random.Intn(2)], random.Intn(60)-30)
		return text.String()
	}
	text.WriteString(suffixes[random.Intn(len(suffixes))])
	return text.String()
}

// A fresh one each time: adding and comparing change what is asked.
func read(text string) *resource.Quantity {
	if digits, found := strings.CutPrefix(text, "#"); found {
		number, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			panic(err)
		}
		return resource.NewQuantity(number, resource.DecimalExponent)
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return nil
	}
	return &quantity
}

func whole(quantity *resource.Quantity) string {
	if whole, fits := quantity.AsInt64(); fits {
		return fmt.Sprint(whole)
	}
	return "-"
}

func exact(quantity *resource.Quantity) string {
	decimal := quantity.AsDec()
	return fmt.Sprintf("%s/%d", decimal.UnscaledBig(), decimal.Scale())
}

func describe(quantity *resource.Quantity) string {
	number := quantity.AsApproximateFloat64()
	return fmt.Sprintf("%s\t%v\t%d\t%s", whole(quantity), number, quantity.Sign(), exact(quantity))
}

func together(out io.Writer, one, other string) {
	sum, difference := read(one), read(one)
	sum.Add(*read(other))
	difference.Sub(*read(other))
	fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%s\n", one, other, read(one).Cmp(*read(other)), describe(sum), describe(difference))
}

func main() {
	rows := flag.Int("rows", 300, "of each kind")
	seed := flag.Int64("seed", 1, "of the texts")
	flag.Parse()
	random := rand.New(rand.NewSource(*seed))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	texts := edges
	for range *rows {
		texts = append(texts, text(random))
	}
	for _, text := range texts {
		if quantity := read(text); quantity == nil {
			fmt.Fprintf(out, "%s\t\n", text)
		} else {
			fmt.Fprintf(out, "%s\t%s\n", text, describe(quantity))
		}
	}
	for row := 0; row < *rows; {
		one, other := text(random), text(random)
		if random.Intn(4) == 0 {
			other = strings.TrimLeft(one, "+-") + "0"
		}
		if read(one) == nil || read(other) == nil {
			continue
		}
		together(out, one, other)
		row++
	}
	for _, one := range numbers {
		fmt.Fprintf(out, "%s\t%s\n", one, describe(read(one)))
		for _, other := range numbers {
			together(out, one, other)
		}
		for _, other := range others {
			together(out, one, other)
			together(out, other, one)
		}
	}
}
