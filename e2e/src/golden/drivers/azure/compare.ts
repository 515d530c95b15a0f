import type { Reported } from '../caller.ts';
import {
  cloudWordsDiffer,
  codeDiffers,
  collapse,
  decoderTextDiffers,
  type Line,
  metricsDiffer,
  requestsDiffer,
  responseDiffers,
  ruledTextDiffers,
  stable,
} from '../compare.ts';
import type { Expected, ExpectedRequest } from '../expected.ts';
import { escaped } from '../rules.ts';
import type { ScriptedRequest } from '../scripted.ts';

const expectedLine = ({ method, path, query, body, form, optional }: ExpectedRequest): Line => ({
  text: `${method} ${path} ${stable(query)} ${stable(form ?? body ?? null)}`,
  optional,
});

const bodyOf = (body: string): unknown => {
  if (body === '') return null;
  return body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
};

const seenLine = ({ method, path, query, body }: ScriptedRequest): Line => ({
  text: `${method} ${path} ${stable(query)} ${stable(bodyOf(body))}`,
});

/** Sorts the requests after the first deletion. */
const inOrder = (lines: readonly Line[], from: number): readonly Line[] =>
  from < 0
    ? collapse(lines)
    : [
        ...collapse(lines.slice(0, from)),
        ...collapse(lines.slice(from).toSorted((a, b) => (a.text < b.text ? -1 : 1))),
      ];

/** Returns the index of the first request whose order is not compared, or -1. */
function unorderedFrom({ requests }: Expected, seen: readonly ScriptedRequest[]): number {
  const first = requests.find((each) => each.unordered === true);
  if (!first) return -1;
  return seen.findIndex(({ method, path }) => method === first.method && /networkInterfaces|disks/.test(path));
}

/**
 * Returns the first difference between a call and the expected call.
 * @param secret a text that the messages of this driver must not contain
 */
export const differenceOf = (
  expected: Expected,
  reported: Reported,
  seen: readonly ScriptedRequest[],
  secret: Readonly<Record<string, string>> = {},
): string | undefined =>
  requestsDiffer(
    inOrder(
      expected.requests.map(expectedLine),
      expected.requests.findIndex((each) => each.unordered === true),
    ),
    inOrder(seen.map(seenLine), unorderedFrom(expected, seen)),
    expected.extent,
  ) ??
  authorizationDiffers(expected, seen) ??
  codeDiffers(expected.result, reported) ??
  textDiffers(expected, reported, secret) ??
  responseDiffers(expected.result, reported) ??
  metricsDiffer(expected.metrics, reported.metrics);

/** Returns the difference between the authorization headers. */
function authorizationDiffers({ requests }: Expected, seen: readonly ScriptedRequest[]): string | undefined {
  const wanted = requests.at(-1)?.authorization;
  const ours = seen.at(-1)?.authorization;
  return wanted === undefined || wanted === ours ? undefined : `authorization: expected ${wanted}, sent ${ours}`;
}

const SHORTEST_SECRET = 6;
const ANY = '[\\s\\S]+';

function textDiffers(
  { result }: Expected,
  { error }: Reported,
  secret: Readonly<Record<string, string>>,
): string | undefined {
  const { errorText, textIs, textMatches } = result;
  if (!error) return undefined;
  if (textMatches) return ruledTextDiffers(result, error.message);
  if (textIs === undefined) return undefined;
  if (textIs === 'decoder') return decoderTextDiffers(errorText ?? '', error.message);
  const hidden = Object.values(secret).filter((value) => value.length >= SHORTEST_SECRET);
  const hide = (text: string): string => hidden.reduce((rest, value) => rest.replaceAll(value, '***'), text);
  if (textIs === 'driver') {
    const wanted = hide(errorText ?? '');
    return error.message === wanted ? undefined : `error text: expected ${wanted}, got ${error.message}`;
  }
  const driverText = hide(String(result.driverText ?? errorText ?? ''));
  const pattern = driverText
    .split(/<cloud error [^>]+>/)
    .map(escaped)
    .join(ANY);
  if (!new RegExp(`^${pattern}$`).test(error.message))
    return `error text: expected ${driverText}, got ${error.message}`;
  return cloudWordsDiffer(result, error.message);
}
