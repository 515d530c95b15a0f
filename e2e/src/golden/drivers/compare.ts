import type { Reported } from './caller.ts';
import type { Expected, ExpectedResult } from './expected.ts';

export interface Line {
  readonly text: string;
  readonly optional?: boolean | undefined;
}

/** Removes repetitions of requests, because one driver may repeat a request more often than the other. */
export const collapse = (lines: readonly Line[]): readonly Line[] =>
  lines.filter(({ text }, i) => text !== lines[i - 1]?.text);

/** Returns the first difference between two lists of requests. */
export function requestsDiffer(
  wanted: readonly Line[],
  ours: readonly Line[],
  extent: Expected['extent'],
): string | undefined {
  let at = 0;
  for (const { text, optional } of wanted) {
    if (ours[at]?.text === text) at++;
    else if (!optional) {
      if (at === ours.length && extent === 'may end earlier') return undefined;
      return `request ${at + 1}: expected ${text}, sent ${ours[at]?.text ?? 'none'}`;
    }
  }
  if (at < ours.length && extent !== 'may continue') return `request ${at + 1}: expected none, sent ${ours[at]?.text}`;
  return undefined;
}

export function codeDiffers(
  { errorCode, codes = [errorCode] }: ExpectedResult,
  { error }: Reported,
): string | undefined {
  if (error?.unexpected) return `the driver failed with an unknown error: ${error.message}`;
  if (codes.includes(error?.code ?? null)) return undefined;
  return `code: expected ${codes.map((code) => code ?? 'success').join(' or ')}, got ${error ? `${error.code} (${error.message})` : 'success'}`;
}

/** Compares an error text with the text that a rule expects. */
export function ruledTextDiffers(result: ExpectedResult, said: string): string | undefined {
  const { textMatches } = result;
  if (textMatches && !textMatches.test(said)) return `error text: expected ${textMatches}, got ${said}`;
  return cloudWordsDiffer(result, said);
}

/** Matches the start of an error text of Go's JSON decoder. The parser of mcm writes other error texts. */
const DECODER = /json: |unexpected end of JSON input|invalid character /;
const FIELD = /Go struct field \w+\.(\S+) of type /;

/** Compares the text before the words of the decoder, and the path of the wrong field. */
export function decoderTextDiffers(text: string, said: string): string | undefined {
  const at = text.search(DECODER);
  if (at < 0) return undefined;
  const start = text.slice(0, at);
  if (!said.startsWith(start)) return `error text must start with ${start}, but is ${said}`;
  const path = FIELD.exec(text)?.[1];
  const paths = said.replaceAll(/\[\d+\]/g, '').toLowerCase();
  return path === undefined || paths.includes(path.toLowerCase())
    ? undefined
    : `error text must contain the field ${path}, but is ${said}`;
}

/** Returns true if the text does not contain the error code or the message of the cloud. */
export function cloudWordsDiffer({ cloudError }: ExpectedResult, said: string): string | undefined {
  for (const word of [cloudError?.code, cloudError?.message])
    if (word && !said.includes(word)) return `error text must contain ${word}, but is ${said}`;
  return undefined;
}

/**
 * Returns the difference between the responses of a successful call. Failed calls are not compared: the original
 * returns data of the VM with the error, but in mcm `initialize` returns this data.
 */
export function responseDiffers(
  { response, errorCode, unknownResponse }: ExpectedResult,
  reported: Reported,
): string | undefined {
  if (errorCode !== null || unknownResponse || reported.error) return undefined;
  const ours = Object.fromEntries(Object.keys(response ?? {}).map((key) => [key, reported.response?.[key]]));
  // In Go, a null list or map is empty.
  const empty = (key: string): unknown => (Array.isArray(ours[key]) ? [] : {});
  const wanted = Object.fromEntries(Object.entries(response ?? {}).map(([key, value]) => [key, value ?? empty(key)]));
  return stable(wanted) === stable(ours) ? undefined : `response: expected ${stable(wanted)}, got ${stable(ours)}`;
}

export function metricsDiffer(wanted: Expected['metrics'], ours: Reported['metrics']): string | undefined {
  if (!wanted) return undefined;
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(ours)])) {
    const [want, got] = [wanted[name] ?? 0, ours[name] ?? 0];
    const same = want === '*' || (want === '>=1' ? got >= 1 : Number(want) === got);
    if (!same) return `metric ${name}: expected ${want}, got ${got}`;
  }
  return undefined;
}

export const stable = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
