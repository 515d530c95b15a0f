import { stable } from '../aws/compare.ts';
import { type Told, UID } from '../caller.ts';
import type { RecordedCall, RecordedRequest, RecordedResult } from '../recording.ts';
import type { ScriptedRequest } from '../scripted.ts';

const collapse = (lines: readonly string[]): readonly string[] => lines.filter((line, i) => line !== lines[i - 1]);

/** Of the Go client's protocol, and our idempotency. */
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

const recordedLine = ({ method, host, path, query, body, form }: RecordedRequest): string =>
  line(method, host ?? '', path, query, form ?? body);

/** A signed assertion as its header and claims, instants as seconds from the start. */
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

/** @param tokens Whether hosts, token exchanges and authorization are part of the recording. @param start In seconds. */
const seenLine = (request: ScriptedRequest, tokens: boolean, start: number): string => {
  const { method, host, path, query, body } = request;
  const isForm = body !== '' && !body.startsWith('{');
  const told = body === '' ? undefined : isForm ? formOf(body, start) : JSON.parse(body);
  return line(method, tokens ? host : '', path, query, told);
};

/** The first thing in which our call differs from the recorded one; undefined when nothing does. */
export function differenceOf(
  call: RecordedCall,
  told: Told,
  seen: readonly ScriptedRequest[],
  tokens: boolean,
  start: number,
): string | undefined {
  const wanted = collapse(call.requests.map(recordedLine));
  const ours = collapse(seen.map((request) => seenLine(request, tokens, start)));
  for (let i = 0; i < Math.max(wanted.length, ours.length); i++)
    if (wanted[i] !== ours[i]) return `request ${i + 1}: wanted ${wanted[i] ?? 'none'}, sent ${ours[i] ?? 'none'}`;
  if (tokens) {
    const [a, b] = [call.requests.at(-1)?.authorization, seen.at(-1)?.authorization];
    if (a !== b) return `authorization: wanted ${a}, sent ${b}`;
  }
  return codeDiffers(call.result, told) ?? responseDiffers(call.result, told) ?? metricsDiffer(call, told);
}

function codeDiffers(
  { errorCode, errorText, textIs, cloudError }: RecordedResult,
  { error }: Told,
): string | undefined {
  if ((error?.code ?? null) !== errorCode)
    return `code: wanted ${errorCode ?? 'success'}, got ${error ? `${error.code} (${error.message})` : 'success'}`;
  if (!error || errorText === null || errorText === undefined) return undefined;
  // The Machine of the recordings had no UID.
  const said = error.message.replaceAll(UID, '');
  if (textIs === 'driver') return said === errorText ? undefined : `text: wanted ${errorText}, got ${said}`;
  const step = /^.*? failed( on \w+)?:/.exec(errorText)?.[0] ?? '';
  if (!said.startsWith(step)) return `text: wanted ${step} first, got ${said}`;
  if (textIs !== 'sdk') return undefined;
  for (const word of [cloudError?.code, cloudError?.message])
    if (word && !said.includes(word)) return `text: wanted ${word} in it, got ${said}`;
  return undefined;
}

export function responseDiffers({ response, errorCode }: RecordedResult, told: Told): string | undefined {
  if (errorCode !== null) return undefined;
  const ours = Object.fromEntries(Object.keys(response ?? {}).map((key) => [key, told.response?.[key]]));
  // A list or map that is null in Go is empty here.
  const empty = (key: string): unknown => (Array.isArray(ours[key]) ? [] : {});
  const wanted = Object.fromEntries(Object.entries(response ?? {}).map(([key, value]) => [key, value ?? empty(key)]));
  return stable(wanted) === stable(ours) ? undefined : `response: wanted ${stable(wanted)}, got ${stable(ours)}`;
}

export function metricsDiffer({ metrics = {} }: RecordedCall, told: Told): string | undefined {
  for (const name of new Set([...Object.keys(metrics), ...Object.keys(told.metrics)])) {
    const [want, got] = [metrics[name] ?? 0, told.metrics[name] ?? 0];
    if (!(want === '>=1' ? got >= 1 : Number(want) === got)) return `metric ${name}: wanted ${want}, got ${got}`;
  }
  return undefined;
}
