import type { SeenRequest } from '@mcm/cloud-emulators';
import type { Told } from '../caller.ts';
import type { RecordedCall, RecordedCase, RecordedRequest, RecordedResult } from '../recording.ts';

/** What is the same in both: a repeated request counts once, for who repeats how often is each one's own. */
const collapse = (lines: readonly string[]): readonly string[] => lines.filter((line, i) => line !== lines[i - 1]);

/** Values that differ from run to run. */
const VARIES = /^(ClientToken|RoleSessionName)$/;
/** Of the SDK's protocol, not of what is asked for. */
const PROTOCOL = 'Version';

const line = (action: string, params: Readonly<Record<string, string>>): string => {
  const fields = Object.entries(params)
    .filter(([key]) => key !== PROTOCOL)
    .map(([key, value]) => `${key}=${VARIES.test(key) ? '<varies>' : value}`);
  return `${action} ${fields.toSorted().join(' ')}`;
};

const defaultAuth = (recorded: RecordedCase): RecordedRequest['auth'] => ({
  accessKeyId: recorded.secret?.providerAccessKeyId ?? '',
  secretAccessKey: recorded.secret?.providerSecretAccessKey ?? '',
  region: String((recorded.providerSpec as { region?: unknown } | undefined)?.region ?? ''),
  service: 'ec2',
});

/** Who signed, if what was signed is right. */
function signer(request: SeenRequest, wanted: RecordedRequest['auth']): string {
  const { scope } = request;
  if (!scope) return 'unsigned';
  const right = scope.signedWith(wanted?.secretAccessKey ?? '') ? '' : ' with another secret key';
  return [scope.accessKeyId, scope.sessionToken ?? '', scope.region, scope.service, right].join(' ');
}

const recordedSigner = (auth: RecordedRequest['auth']): string =>
  auth ? [auth.accessKeyId, auth.sessionToken ?? '', auth.region, auth.service, ''].join(' ') : 'unsigned';

/** The first thing in which our call differs from the recorded one; undefined when nothing does. */
export function differenceOf(
  recorded: RecordedCase,
  call: RecordedCall,
  told: Told,
  seen: readonly SeenRequest[],
): string | undefined {
  return (
    requestsDiffer(recorded, call.requests, seen) ??
    codesDiffer(call.result, told) ??
    textsDiffer(call.result, told) ??
    responsesDiffer(call.result, told) ??
    metricsDiffer(call.metrics, told.metrics)
  );
}

/** Whether the call did and answered the same, with fewer reads: no write is missing, changed or moved, and no read is new. */
export function savesReads(call: RecordedCall, told: Told, seen: readonly SeenRequest[]): boolean {
  const wanted = collapse(call.requests.map(({ action, params }) => line(action, params)));
  const ours = collapse(seen.map(({ action, params }) => line(action, params)));
  let next = 0;
  for (const each of wanted) {
    if (each === ours[next]) next++;
    else if (!each.startsWith('Describe')) return false;
  }
  const same = (codesDiffer(call.result, told) ?? responsesDiffer(call.result, told)) === undefined;
  return same && next === ours.length && ours.length < wanted.length;
}

function requestsDiffer(
  recorded: RecordedCase,
  requests: readonly RecordedRequest[],
  seen: readonly SeenRequest[],
): string | undefined {
  const wanted = collapse(requests.map(({ action, params }) => line(action, params)));
  const ours = collapse(seen.map(({ action, params }) => line(action, params)));
  for (let i = 0; i < Math.max(wanted.length, ours.length); i++) {
    if (wanted[i] !== ours[i]) return `request ${i + 1}: wanted ${wanted[i] ?? 'none'}, sent ${ours[i] ?? 'none'}`;
  }
  for (const request of seen) {
    const like = requests.find(({ action }) => action === request.action);
    const auth = like && 'auth' in like ? like.auth : defaultAuth(recorded);
    const [by, should] = [signer(request, auth), recordedSigner(auth)];
    if (by !== should) return `${request.action} signed by ${by}, wanted ${should}`;
  }
  return undefined;
}

const codesDiffer = ({ errorCode }: RecordedResult, { error }: Told): string | undefined =>
  (error?.code ?? null) === errorCode
    ? undefined
    : `code: wanted ${errorCode ?? 'success'}, got ${error ? `${error.code} (${error.message})` : 'success'}`;

function textsDiffer({ errorText, textIs, cloudError }: RecordedResult, { error }: Told): string | undefined {
  if (!error) return undefined;
  if (textIs === 'driver' && error.message !== errorText) return `text: wanted ${errorText}, got ${error.message}`;
  if (textIs !== 'sdk') return undefined;
  for (const word of [cloudError?.code, cloudError?.message])
    if (word && !error.message.includes(word)) return `text: wanted ${word} in it, got ${error.message}`;
  return undefined;
}

/** Beside an error the original answers what is known of the VM; ours tells it from `initialize`. */
function responsesDiffer({ response, errorCode }: RecordedResult, told: Told): string | undefined {
  if (errorCode !== null) return undefined;
  const ours = Object.fromEntries(Object.keys(response ?? {}).map((key) => [key, told.response?.[key]]));
  const [a, b] = [stable(response), stable(ours)];
  return a === b ? undefined : `response: wanted ${a}, got ${b}`;
}

function metricsDiffer(wanted: RecordedCall['metrics'], ours: Told['metrics']): string | undefined {
  if (!wanted) return undefined;
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(ours)])) {
    const [want, got] = [wanted[name] ?? 0, ours[name] ?? 0];
    const same = want === '>=1' ? got >= 1 : Number(want) === got;
    if (!same) return `metric ${name}: wanted ${want}, got ${got}`;
  }
  return undefined;
}

export const stable = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
