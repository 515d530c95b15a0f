import type { Counts } from '../common/counts.ts';
import { onceEach } from '../common/counts.ts';
import type { Expected, PlayedCall } from './expected.ts';

const CALLS = 'driver calls';
const ENTIRELY = 'driver calls that a rule excuses entirely';

const ofRule = (row: string): string => `driver calls with the rule "${row}"`;

/**
 * Counts the calls that need each rule, in the order of the rows. The result also contains the numbers of values that
 * are not compared.
 */
export const excusedBy = (counts: Counts, rows: readonly string[]) => ({
  rules: rows.map((row) => counts[ofRule(row)] ?? 0),
  values: Object.fromEntries(Object.entries(counts).filter(([what]) => !what.includes(' with the rule '))),
});

/** Returns what the rules excuse in the comparison of a driver call. */
export function excusedIn({ step, recorded, expect }: PlayedCall): Counts {
  const { expected, rows } = expect(step);
  const { extent, result, metrics } = expected;
  const hasSeveralCodes = (result.codes?.length ?? 1) > 1;
  const isOpen = result.errorCode === null && result.unknownResponse === true;
  const left: Readonly<Record<string, boolean>> = {
    [CALLS]: true,
    [ENTIRELY]: isOpen && hasSeveralCodes && extent === 'may continue' && expected.requests.length === 0,
    'driver calls with requests that are compared only partly': extent !== 'whole',
    'driver calls with several accepted codes': hasSeveralCodes,
    'driver calls with a response that is not compared': isOpen,
    'driver calls with an error text in which the words of a parser are not compared': hasParserText(expected),
    'driver calls with an error text that is not compared': hasFreeText(expected),
    'driver calls with metrics that are compared only partly': areMetricsOpen(step.metrics, metrics),
    'driver calls with several accepted recordings': recorded.alsoAccepted !== undefined,
  };
  return onceEach([...Object.entries(left).flatMap(([what, isLeft]) => (isLeft ? [what] : [])), ...rows.map(ofRule)]);
}

const hasParserText = ({ result: { errorCode, textIs, textMatches } }: Expected): boolean =>
  errorCode !== null && textMatches === undefined && textIs === 'decoder';

const hasFreeText = ({ result: { errorCode, textIs, textMatches } }: Expected): boolean =>
  errorCode !== null && textMatches === undefined && textIs === undefined;

function areMetricsOpen(recorded: Expected['metrics'], expected: Expected['metrics']): boolean {
  if (recorded === undefined) return false;
  return (
    expected === undefined || Object.entries(expected).some(([name, value]) => value === '*' && recorded[name] !== '*')
  );
}
