import { type Reported, UID } from '../caller.ts';
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
import type { ScriptedRequest } from '../scripted.ts';

const NOT_COMPARED = ['alt', 'prettyPrint', 'requestId'];

const line = (
  method: string,
  host: string,
  path: string,
  query: Readonly<Record<string, string>>,
  body: unknown,
): string => {
  const asked = Object.entries(query).filter(([key]) => !NOT_COMPARED.includes(key));
  return `${method} ${host}${path} ${stable(Object.fromEntries(asked))} ${stable(body ?? null)}`;
};

const expectedLine = ({ method, host, path, query, body, form, optional }: ExpectedRequest): Line => ({
  text: line(method, host ?? '', path, query, form ?? body),
  optional,
});

/** Returns the header and the claims of a signed assertion in a request body. */
function formOf(body: string, start: number): Record<string, unknown> {
  const form: Record<string, unknown> = Object.fromEntries(new URLSearchParams(body));
  const [header, claims] = String(form.assertion ?? '').split('.');
  if (!header || !claims) return form;
  const read = (part: string): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString());
  const said = read(claims);
  const from = (at: unknown): string => `<start${Number(at) < start ? '' : '+'}${Number(at) - start}s>`;
  form.assertion = { header: read(header), claims: { ...said, iat: from(said.iat), exp: from(said.exp) } };
  return form;
}

/**
 * @param tokens whether the recording contains hosts, token requests and authorization
 * @param start the start of the times in the assertion, in seconds since 1970
 */
const seenLine = (request: ScriptedRequest, tokens: boolean, start: number): Line => {
  const { method, host, path, query, body } = request;
  const isForm = body !== '' && !body.startsWith('{');
  const reported = body === '' ? undefined : isForm ? formOf(body, start) : JSON.parse(body);
  return { text: line(method, tokens ? host : '', path, query, reported) };
};

/** Returns the first difference between a call and the expected call. */
export const differenceOf = (
  expected: Expected,
  reported: Reported,
  seen: readonly ScriptedRequest[],
  tokens: boolean,
  start: number,
): string | undefined =>
  requestsDiffer(
    collapse(expected.requests.map(expectedLine)),
    collapse(seen.map((request) => seenLine(request, tokens, start))),
    expected.extent,
  ) ??
  (tokens ? authorizationDiffers(expected, seen) : undefined) ??
  codeDiffers(expected.result, reported) ??
  textDiffers(expected, reported) ??
  responseDiffers(expected.result, reported) ??
  metricsDiffer(expected.metrics, reported.metrics);

function authorizationDiffers({ requests }: Expected, seen: readonly ScriptedRequest[]): string | undefined {
  const [a, b] = [requests.at(-1)?.authorization, seen.at(-1)?.authorization];
  return a === b ? undefined : `authorization: expected ${a}, sent ${b}`;
}

function textDiffers({ result }: Expected, { error }: Reported): string | undefined {
  const { errorText, textIs, textMatches } = result;
  if (!error) return undefined;
  const said = error.message.replaceAll(UID, '');
  if (textMatches) return ruledTextDiffers(result, said);
  if (errorText === null || errorText === undefined) return undefined;
  if (textIs === 'driver') return said === errorText ? undefined : `error text: expected ${errorText}, got ${said}`;
  const step = /^.*? failed( on \w+)?:/.exec(errorText)?.[0] ?? '';
  if (!said.startsWith(step)) return `error text must start with ${step}, but is ${said}`;
  return textIs === 'sdk' ? cloudWordsDiffer(result, said) : decoderTextDiffers(errorText, said);
}
