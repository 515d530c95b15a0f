/** How the error texts of a function are compared. */
interface TextRule {
  readonly parser: string;
  /** Returns the part of the original's text that is compared. */
  readonly theirs: (text: string) => string | undefined;
  readonly ours: (text: string) => string;
}

/** Returns the text before a match, without positions. */
const before =
  (pattern: RegExp) =>
  (text: string): string | undefined => {
    const at = text.search(pattern);
    return at < 0 ? undefined : `${withoutPositions(text.slice(0, at))}<parser>`;
  };

const orWhole =
  (read: (text: string) => string | undefined) =>
  (text: string): string =>
    read(text) ?? text;

const rule = (parser: string, theirs: RegExp, ours: RegExp): TextRule => ({
  parser,
  theirs: before(theirs),
  ours: orWhole(before(ours)),
});

const REPORT = /\nReport: /;
/** Matches the messages of a JSON decoder. */
const DECODER = /^(json: |invalid character |unexpected end of JSON)/;

interface Entry {
  readonly at: string;
  readonly message: string;
}

/** Parses a report about an Ignition config of spec 3. */
function entriesOf(report: string): readonly Entry[] {
  return report
    .split(/^(?=(?:error|warning) at )/m)
    .filter((entry) => entry.startsWith('error at '))
    .map((entry) => {
      const [, at = '', message = ''] = /^error at (.*?): ([\s\S]*)$/.exec(entry.trim()) ?? [
        undefined,
        '',
        entry.trim(),
      ];
      return { at: at.replace(/(, )?line \d+ col(umn)? \d+/, ''), message: message.trim() };
    });
}

const headOf = (text: string): string => text.slice(0, text.search(REPORT));
const reportOf = (text: string): string => text.slice(text.search(REPORT) + '\nReport: '.length);

const messagesOfV2 = (report: string): readonly string[] =>
  report
    .split(/^(?=(?:error|warning) at )/m)
    .filter((entry) => entry.startsWith('error at '))
    .map(
      (entry) =>
        entry
          .trim()
          .split('\n')
          .at(-1)
          ?.replace(/^error at \S+: /, '') ?? '',
    )
    .toSorted();

const isV2 = (text: string): boolean => /spec v2 failed/.test(text) && REPORT.test(text);
const v2 = (text: string): string => JSON.stringify([headOf(text), messagesOfV2(reportOf(text))]);

/** If the JSON of a config has a wrong type, the report has only one entry: the error of the decoder. */
const isUndecoded = (text: string): boolean =>
  REPORT.test(text) && entriesOf(reportOf(text)).some(({ message }) => DECODER.test(message));
const undecoded = (text: string): string => `${headOf(text)} with ${entriesOf(reportOf(text)).length} decoder error`;

const GZIP = /(?<=could not create gzip reader: |failed decompressing: )/;

/** Matches the text of mcm about a value that is not a number of nodes. */
const NO_NUMBER =
  /^(maxUnavailable: invalid value for IntOrString:|spec\.maxUnavailable of MachineConfigPool \S+ is) \S.* is neither a number nor a percentage such as "10%"$|^spec\.maxUnavailable of MachineConfigPool \S+ is \S.*, which is neither a number nor a percentage: no node gets a target\. To fix the error: set a number such as 1, or a percentage from "1%" to "100%"$/;

const RULES: readonly TextRule[] = [
  { parser: "Ignition's decoder of spec 2", theirs: (text) => (isV2(text) ? v2(text) : undefined), ours: v2 },
  {
    parser: "Go's JSON decoder, in a report",
    theirs: (text) => (isUndecoded(text) ? undecoded(text) : undefined),
    ours: undecoded,
  },
  rule("Go's JSON decoder", /(error unmarshaling JSON: while decoding JSON: )?json: /, /json: /),
  rule("Go's durations", /time: (unknown|missing|invalid)/, /time: /),
  {
    parser: "Go's numbers, in a percentage of a pool",
    theirs: (text) =>
      /invalid value for IntOrString: (invalid value .*strconv|invalid type: )/.test(text)
        ? before(/invalid value for IntOrString/)(text)
        : undefined,
    ours: (text) => (NO_NUMBER.test(text) ? 'maxUnavailable:<parser>' : text),
  },
  rule("Go's numbers", /strconv\./, /strconv\./),
  rule('gzip', GZIP, GZIP),
  rule('base64', /(?<=illegal base64 data)/, /(?<=illegal base64 data)/),
  {
    parser: "Go's templates",
    theirs: (text) =>
      templateOf(text, /(?:failed to parse template|failed to execute template).*?<templates>\/([^\s":]+)/),
    ours: (text) => templateOf(text, /template ([^\s":]+): /) ?? text,
  },
  {
    parser: 'the file system of templates',
    theirs: (text) => /^failed to read dir "<templates>\/[^"]*"/.exec(text)?.[0].replace('<templates>/', ''),
    ours: (text) => /^failed to read dir "[^"]*"/.exec(text)?.[0] ?? text,
  },
];

function templateOf(text: string, pattern: RegExp): string | undefined {
  const match = pattern.exec(text);
  return match ? `${text.slice(0, match.index)}template ${match[1]}` : undefined;
}

export interface ComparableTexts {
  readonly theirs: string;
  readonly ours: string;
  /** The name of a parser whose error texts differ from the original, and are therefore not compared. */
  readonly parser?: string;
}

export function comparableTexts(expected: string, actual: string): ComparableTexts {
  const whole = { theirs: withoutPositions(expected), ours: withoutPositions(actual) };
  for (const { parser, theirs, ours } of RULES) {
    const counts = theirs(expected);
    if (counts === undefined) continue;
    const compared = { theirs: counts, ours: ours(actual) };
    return whole.theirs === whole.ours ? compared : { ...compared, parser };
  }
  return whole;
}

const withoutPositions = (text: string): string =>
  text
    .replace(/, line \d+ col \d+/g, '')
    .replace(/yaml: line \d+: /g, 'yaml: ')
    .replace(/warning at [^\n]*\n?/g, '')
    .trim();
