import {
  type Expected,
  type ExpectedRequest,
  failsWith,
  type Rule,
  type Situation,
  withoutServices,
} from './expected.ts';
import type { RecordedCase } from './recording.ts';
import { mergesKeys, otherNumbers } from './stored-spec.ts';

/** The intended differences that all drivers have. */

const CALLS: Readonly<Record<string, string>> = {
  CreateMachine: 'create',
  InitializeMachine: 'initialize',
  GetMachineStatus: 'status',
  DeleteMachine: 'delete',
  ListMachines: 'list',
};

export const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function callPattern({ recorded: { machine }, step: { method } }: Situation): string {
  const of = method === 'ListMachines' ? 'class class' : `machine ${escaped(machine?.name ?? '')}`;
  return `${CALLS[method] ?? method} of ${of}`;
}

/** When the caller cancels a call: never, before its start, or while it runs. */
export type CallerEnd = 'never' | 'before' | 'during';

/**
 * Returns the rule for a call that the caller cancels.
 * @param endOf returns the time of the cancellation in a recording
 */
export const endedByCaller = (row: string, endOf: (recorded: RecordedCase) => CallerEnd): Rule => ({
  row,
  expect: (expected, situation) => {
    const end = endOf(situation.recorded);
    if (end === 'never' || expected.result.errorCode === null) return undefined;
    const how = end === 'before' ? 'not started' : 'canceled';
    const textMatches = new RegExp(`^${callPattern(situation)} was ${how}, because the process stops$`);
    const failed = failsWith(expected, situation, 'Canceled', { textMatches });
    const metrics = end === 'before' ? withoutServices(failed.metrics) : failed.metrics;
    return { ...failed, extent: 'may end earlier', metrics };
  },
});

/**
 * Returns the rule for a call that exceeds its deadline. The error text of the original contains the cause, and the
 * error text of mcm contains the duration.
 */
export const outlivesDeadline = (row: string, msOf: (recorded: RecordedCase) => number | undefined): Rule => ({
  row,
  expect: (expected, situation) => {
    const ms = msOf(situation.recorded);
    if (ms === undefined || !/context (deadline exceeded|canceled)/.test(expected.result.errorText ?? ''))
      return undefined;
    const textMatches = new RegExp(`^${callPattern(situation)} took longer than ${escaped(String(ms / 1_000))} s$`);
    return { ...failsWith(expected, situation, 'DeadlineExceeded', { textMatches }), extent: 'may end earlier' };
  },
});

/** Returns the rule for a method that a driver does not have. */
export const methodIsAbsent = (row: string, method: string): Rule => ({
  row,
  expect: (_, { step, provider }) =>
    step.method === method
      ? {
          requests: [],
          extent: 'whole',
          result: {
            response: null,
            errorCode: 'Unimplemented',
            textMatches: new RegExp(`^driver ${provider} has no method initialize$`),
          },
          metrics: {},
        }
      : undefined,
});

/**
 * Returns the rule for throttling errors. mcm returns a different error code than the original. Only `initialize` still
 * returns `Uninitialized`.
 * @param isThrottle whether the recorded error means throttling
 */
export const throttledIsUnavailable = (
  row: string,
  isThrottle: (error: NonNullable<Expected['result']['cloudError']>, text: string) => boolean,
): Rule => ({
  row,
  expect: (expected, situation) => {
    const { errorCode, errorText, cloudError } = expected.result;
    if (errorCode !== 'Internal' || !cloudError || !isThrottle(cloudError, errorText ?? '')) return undefined;
    return failsWith(expected, situation, 'Unavailable');
  },
});

/**
 * Returns the rule for a token service that is not available. The driver fails with a code that allows a retry, and
 * sends no further request.
 * @param isLogin Whether a request asks for a token.
 * @param isDown Whether the first response to a token request shows that the service is not available.
 */
export const tokenHostIsDown = (
  row: string,
  isLogin: (request: ExpectedRequest) => boolean,
  isDown: (request: ExpectedRequest, situation: Situation) => boolean,
): Rule => ({
  row,
  expect: (expected, situation) => {
    const login = expected.requests.find(isLogin);
    if (!login || !isDown(login, situation)) return undefined;
    const textMatches = /(no|cannot fetch) token from \S+: \d{3}|AssumeRoleWithWebIdentity: /;
    const isRefused = expected.result.errorCode !== null;
    const failed = failsWith(expected, situation, 'Unavailable', { textMatches });
    return {
      ...failed,
      requests: upTo(expected.requests, (each) => each === login),
      // In the recording, the next token request succeeded, so the metrics of the original contain more services.
      metrics: isRefused ? failed.metrics : undefined,
      extent: isRefused ? failed.extent : 'may continue',
    };
  },
});

/**
 * Returns the rule for a crash of the original. mcm refuses wrong input before its first request, and can continue after
 * an incomplete response of the cloud.
 * @param codes the error codes with which this driver may fail
 */
export const endsOriginal = (row: string, codes: readonly string[]): Rule => ({
  row,
  expect: (expected) => {
    if (expected.result.panic === undefined) return undefined;
    const isInput = expected.requests.length === 0;
    return {
      ...expected,
      extent: isInput ? 'whole' : 'may continue',
      result: { response: null, errorCode: null, unknownResponse: true, codes: isInput ? codes : [null, ...codes] },
      metrics: undefined,
    };
  },
});

/** Returns the rule for calls without volumes. */
export const noVolume = (row: string): Rule => ({
  row,
  expect: (expected, { recorded, step }) =>
    step.method === 'GetVolumeIDs' && (recorded.pvSpecs?.length ?? 0) === 0 ? { ...expected, metrics: {} } : undefined,
});

/** Returns true if the values in the stored provider spec differ from the values that the original decoded. */
const isKeptOtherwise = ({ providerSpecRaw: raw = '' }: RecordedCase, { result }: Expected): boolean =>
  mergesKeys(raw) ||
  otherNumbers(raw).some((number) => result.errorText?.includes(`cannot unmarshal number ${number} into`) === true);

/** Returns the rule for a provider spec whose stored values differ from the values in the recording. */
export const specIsKeptOtherwise = (row: string, codes: readonly string[]): Rule => ({
  row,
  expect: (expected, { recorded }) =>
    isKeptOtherwise(recorded, expected)
      ? {
          requests: [],
          extent: 'may continue',
          result: { response: null, errorCode: null, unknownResponse: true, codes: [null, ...codes] },
          metrics: undefined,
        }
      : undefined,
});

export function upTo(
  requests: readonly ExpectedRequest[],
  fits: (request: ExpectedRequest) => boolean,
): readonly ExpectedRequest[] {
  const at = requests.findIndex(fits);
  return at < 0 ? requests : requests.slice(0, at + 1);
}
