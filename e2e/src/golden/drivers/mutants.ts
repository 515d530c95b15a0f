import { stable } from './compare.ts';
import type { Expected, PlayedCall } from './expected.ts';
import type { RecordedCall, RecordedRequest } from './recording.ts';

/** Tests the comparison itself: one value of each recording is changed. */

type Change = (call: RecordedCall) => RecordedCall | undefined;

const spoilt = (request: RecordedRequest): RecordedRequest =>
  request.action === ''
    ? { ...request, path: `${request.path}-mutant` }
    : { ...request, action: `${request.action}Mutant` };

const at = (call: RecordedCall, index: number): RecordedCall | undefined =>
  call.requests.length === 0
    ? undefined
    : { ...call, requests: call.requests.with(index, spoilt(call.requests.at(index) as RecordedRequest)) };

const CHANGES: Readonly<Record<string, Change>> = {
  'the first request': (call) => at(call, 0),
  'the last request': (call) => at(call, -1),
  'one additional request': (call) => {
    const last = call.requests.at(-1);
    return last && { ...call, requests: [...call.requests, spoilt(last)] };
  },
  'the code': (call) => {
    const { result } = call;
    if (result.panic !== undefined) return undefined;
    return { ...call, result: { ...result, errorCode: result.errorCode === null ? 'Aborted' : null } };
  },
  'another code': (call) => {
    const { result } = call;
    if (result.errorCode === null) return undefined;
    return { ...call, result: { ...result, errorCode: 'Aborted' } };
  },
  'the text': (call) => {
    const { result } = call;
    if (result.textIs !== 'driver') return undefined;
    return { ...call, result: { ...result, errorText: `${result.errorText} mutant` } };
  },
  'the text of the cloud': (call) => {
    const { result } = call;
    const { cloudError } = result;
    if (result.textIs !== 'sdk' || !cloudError?.message) return undefined;
    return { ...call, result: { ...result, cloudError: { ...cloudError, message: `${cloudError.message} mutant` } } };
  },
  'the response': (call) => {
    const { result } = call;
    if (result.errorCode !== null || result.response === null) return undefined;
    return { ...call, result: { ...result, response: { ...result.response, nodeName: 'mutant' } } };
  },
  'a metric': (call) => {
    const { metrics, requests } = call;
    if (!metrics || requests.length === 0) return undefined;
    return { ...call, metrics: { ...metrics, 'mcm_cloud_api_requests_total{service="mutant"}': 1 } };
  },
  'the count of calls': (call) => {
    const { metrics } = call;
    const own = Object.keys(metrics ?? {}).find((name) => name.startsWith('mcm_cloud_api_driver_'));
    return metrics && own ? { ...call, metrics: { ...metrics, [own]: 7 } } : undefined;
  },
};

export interface Verified {
  readonly change: string;
  /** The outcome `covered` means that the rules allow the change. */
  readonly outcome: 'seen' | 'covered' | 'missed';
  readonly rows: readonly string[];
}

function essence({ requests, extent, result, metrics }: Expected): string {
  const { textMatches, codes, cloudError, errorCode, response, unknownResponse, errorText, driverText } = result;
  const text = textMatches ? String(textMatches) : [errorText, driverText];
  // If a call may end earlier, the comparison is certain only for the first request.
  const compared = extent === 'may end earlier' ? requests.slice(0, 1) : requests;
  const answer = unknownResponse ? undefined : response;
  return stable({ compared, text, cloudError, code: codes ?? errorCode, answer, metrics });
}

/** Compares a replayed call with several recordings, each with one changed value. */
export function verifyMutants({ step, expect, verify }: PlayedCall): readonly Verified[] {
  const before = expect(step);
  return Object.entries(CHANGES).flatMap(([change, apply]): Verified[] => {
    const mutant = apply(step);
    if (!mutant) return [];
    const { rows } = before;
    if (verify(mutant) !== undefined) return [{ change, outcome: 'seen', rows }];
    const isSame = essence(expect(mutant).expected) === essence(before.expected);
    return [{ change, outcome: isSame ? 'covered' : 'missed', rows }];
  });
}
