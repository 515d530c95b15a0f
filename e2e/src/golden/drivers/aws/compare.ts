import type { SeenRequest } from '@mcm/cloud-emulators';
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
} from '../compare.ts';
import type { Expected, ExpectedRequest } from '../expected.ts';
import type { RecordedCase, RecordedRequest } from '../recording.ts';

const VARIES = /^(ClientToken|RoleSessionName)$/;
const PROTOCOL = 'Version';

interface Request {
  readonly action: string;
  readonly params: Readonly<Record<string, string>>;
  readonly optional?: boolean;
}

/** Formats a request as one line, without values that are different in each run. */
export function lineOf({ action, params, optional }: Request): Line {
  const fields = Object.entries(params)
    .filter(([key]) => key !== PROTOCOL)
    .map(([key, value]) => `${key}=${VARIES.test(key) ? '<varies>' : value}`);
  return { text: `${action} ${fields.toSorted().join(' ')}`, optional };
}

const defaultAuth = (recorded: RecordedCase): RecordedRequest['auth'] => ({
  accessKeyId: recorded.secret?.providerAccessKeyId ?? '',
  secretAccessKey: recorded.secret?.providerSecretAccessKey ?? '',
  region: String((recorded.providerSpec as { region?: unknown } | null | undefined)?.region ?? ''),
  service: 'ec2',
});

/** Returns the access key of a request, if its signature is valid. */
function signer(request: SeenRequest, wanted: RecordedRequest['auth']): string {
  const { scope } = request;
  if (!scope) return 'unsigned';
  const right = scope.signedWith(wanted?.secretAccessKey ?? '') ? '' : ' with another secret key';
  return [scope.accessKeyId, scope.sessionToken ?? '', scope.region, scope.service, right].join(' ');
}

const recordedSigner = (auth: RecordedRequest['auth']): string =>
  auth ? [auth.accessKeyId, auth.sessionToken ?? '', auth.region, auth.service, ''].join(' ') : 'unsigned';

/** Returns the first difference between a call and the expected call. */
export const differenceOf = (
  recorded: RecordedCase,
  expected: Expected,
  reported: Reported,
  seen: readonly SeenRequest[],
): string | undefined =>
  requestsDiffer(collapse(expected.requests.map(lineOf)), collapse(seen.map(lineOf)), expected.extent) ??
  signersDiffer(recorded, expected.requests, seen) ??
  codeDiffers(expected.result, reported) ??
  textsDiffer(expected, reported) ??
  responseDiffers(expected.result, reported) ??
  metricsDiffer(expected.metrics, reported.metrics);

function signersDiffer(
  recorded: RecordedCase,
  requests: readonly ExpectedRequest[],
  seen: readonly SeenRequest[],
): string | undefined {
  for (const request of seen) {
    const like = requests.find(({ action }) => action === request.action);
    const auth = like && 'auth' in like ? like.auth : defaultAuth(recorded);
    const [by, should] = [signer(request, auth), recordedSigner(auth)];
    if (by !== should) return `${request.action} is signed by ${by}, expected ${should}`;
  }
  return undefined;
}

function textsDiffer({ result }: Expected, { error }: Reported): string | undefined {
  if (!error) return undefined;
  const { errorText, textIs, textMatches } = result;
  if (textMatches) return ruledTextDiffers(result, error.message);
  if (textIs === 'driver' && error.message !== errorText)
    return `error text: expected ${errorText}, got ${error.message}`;
  if (textIs === 'decoder') return decoderTextDiffers(errorText ?? '', error.message);
  return textIs === 'sdk' ? cloudWordsDiffer(result, error.message) : undefined;
}
