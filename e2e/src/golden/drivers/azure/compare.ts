import { stable } from '../aws/compare.ts';
import type { Told } from '../caller.ts';
import { metricsDiffer, responseDiffers } from '../gcp/compare.ts';
import type { RecordedCall, RecordedRequest, RecordedResult } from '../recording.ts';
import type { ScriptedRequest } from '../scripted.ts';

const collapse = (lines: readonly string[]): readonly string[] => lines.filter((line, i) => line !== lines[i - 1]);

const recordedLine = ({ method, path, query, body }: RecordedRequest): string =>
  `${method} ${path} ${stable(query)} ${stable(body ?? null)}`;

const bodyOf = (body: string): unknown => {
  if (body === '') return null;
  return body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
};

const seenLine = ({ method, path, query, body }: ScriptedRequest): string =>
  `${method} ${path} ${stable(query)} ${stable(bodyOf(body))}`;

/** From the first deletion that runs beside others on, order says nothing. */
const inOrder = (lines: readonly string[], from: number): readonly string[] =>
  from < 0 ? collapse(lines) : [...collapse(lines.slice(0, from)), ...new Set(lines.slice(from).toSorted())];

/** The first thing in which our call differs from the recorded one; undefined when nothing does. */
/** @param secret What must not stand in our texts. */
export function differenceOf(
  call: RecordedCall,
  told: Told,
  seen: readonly ScriptedRequest[],
  secret: Readonly<Record<string, string>> = {},
): string | undefined {
  const from = call.requests.findIndex((each) => each.unordered === true);
  const wanted = inOrder(call.requests.map(recordedLine), from);
  const fromOurs =
    from < 0
      ? -1
      : seen.findIndex(
          (each) => each.method === call.requests[from]?.method && /networkInterfaces|disks/.test(each.path),
        );
  const ours = inOrder(seen.map(seenLine), fromOurs);
  for (let i = 0; i < Math.max(wanted.length, ours.length); i++)
    if (wanted[i] !== ours[i]) return `request ${i + 1}: wanted ${wanted[i] ?? 'none'}, sent ${ours[i] ?? 'none'}`;
  return codeDiffers(call.result, told, secret) ?? responseDiffers(call.result, told) ?? metricsDiffer(call, told);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

const SHORTEST_SECRET = 6;

function codeDiffers(
  result: RecordedResult,
  { error }: Told,
  secret: Readonly<Record<string, string>>,
): string | undefined {
  const { errorCode, errorText, textIs, cloudError } = result;
  if ((error?.code ?? null) !== errorCode)
    return `code: wanted ${errorCode ?? 'success'}, got ${error ? `${error.code} (${error.message})` : 'success'}`;
  if (!error || textIs === 'decoder') return undefined;
  const hidden = Object.values(secret).filter((value) => value.length >= SHORTEST_SECRET);
  const hide = (text: string): string => hidden.reduce((rest, value) => rest.replaceAll(value, '***'), text);
  if (textIs === 'driver') {
    const wanted = hide(errorText ?? '');
    return error.message === wanted ? undefined : `text: wanted ${wanted}, got ${error.message}`;
  }
  const driverText = hide(String(result.driverText ?? errorText ?? ''));
  const pattern = driverText
    .split(/<cloud error [^>]+>/)
    .map(escaped)
    .join('[\\s\\S]+');
  if (!new RegExp(`^${pattern}$`).test(error.message)) return `text: wanted ${driverText}, got ${error.message}`;
  for (const word of [cloudError?.code, cloudError?.message])
    if (word && !error.message.includes(word)) return `text: wanted ${word} in it, got ${error.message}`;
  return undefined;
}
