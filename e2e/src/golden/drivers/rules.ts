import {
  type Expected,
  type ExpectedRequest,
  failsWith,
  type Rule,
  type Situation,
  withoutServices,
} from './expected.ts';
import type { RecordedCase } from './recording.ts';

/** Intended differences from the original that all drivers have. */

/** The names of the methods in texts of the core. */
const CALLS: Readonly<Record<string, string>> = {
  CreateMachine: 'create',
  InitializeMachine: 'initialize',
  GetMachineStatus: 'status',
  DeleteMachine: 'delete',
  ListMachines: 'list',
};

/** Escapes a text for a regular expression. */
export const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function callPattern({ recorded: { machine }, step: { method } }: Situation): string {
  const of = method === 'ListMachines' ? 'class class' : `machine ${escaped(machine?.name ?? '')}`;
  return `${CALLS[method] ?? method} of ${of}`;
}

/** When the caller cancels a call: never, before the start, or during the call. */
export type CallerEnd = 'never' | 'before' | 'during';

/**
 * Rule for a call that its caller cancels.
 * @param endOf Returns the time of the cancellation in the recording.
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
 * Rule for a call that takes longer than its deadline. The text of the original contains the cause, and our text
 * contains the time.
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

/** Rule for a method that the driver does not have. A call sends no request and counts nothing. */
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
 * Rule for throttling: only the code differs from the original, except that `initialize` keeps `Uninitialized`.
 * @param isThrottle Whether the recorded error is throttling.
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
 * Rule for an unavailable token service: the error allows a retry, and no further request follows.
 * @param isLogin Whether a request is for a token.
 * @param isDown Whether the first response to a token request shows an outage.
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
      // The original then requested the token again with success, so its metrics contain other services.
      metrics: isRefused ? failed.metrics : undefined,
      extent: isRefused ? failed.extent : 'may continue',
    };
  },
});

/**
 * Rule for a crash of the original: this driver sends the requests before the crash, and then continues or returns an
 * error.
 * @param codes The machine codes of these errors.
 */
export const endsOriginal = (row: string, codes: readonly string[]): Rule => ({
  row,
  expect: (expected) =>
    expected.result.panic === undefined
      ? undefined
      : {
          ...expected,
          extent: 'may continue',
          result: { response: null, errorCode: null, unknownResponse: true, codes: [null, ...codes] },
          metrics: undefined,
        },
});

/**
 * Rule for calls without volumes. A recording contains several volumes in one call, but the core calls a driver for
 * each volume.
 */
export const noVolume = (row: string): Rule => ({
  row,
  expect: (expected, { recorded, step }) =>
    step.method === 'GetVolumeIDs' && (recorded.pvSpecs?.length ?? 0) === 0 ? { ...expected, metrics: {} } : undefined,
});

/** Returns a JSON text without blanks. Repeated keys also change the text. */
const canonical = (raw: string): string => JSON.stringify(JSON.parse(raw));
const withoutBlanks = (raw: string): string => raw.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, '$1');

/**
 * Whether the values change when the API server stores a raw provider spec. Examples are repeated keys and unusual
 * number formats.
 */
const isKeptOtherwise = ({ providerSpecRaw: raw }: RecordedCase): boolean =>
  raw !== undefined && raw !== '' && withoutBlanks(raw) !== canonical(raw);

/**
 * Rule for a provider spec that the API server stores with other values than the original received. The behavior of the
 * original for changed values was not recorded, so only the code is compared.
 */
export const specIsKeptOtherwise = (row: string, codes: readonly string[]): Rule => ({
  row,
  expect: (_, { recorded }) =>
    isKeptOtherwise(recorded)
      ? {
          requests: [],
          extent: 'may continue',
          result: { response: null, errorCode: null, unknownResponse: true, codes: [null, ...codes] },
          metrics: undefined,
        }
      : undefined,
});

/** Returns the requests up to and including the first request that matches. */
export function upTo(
  requests: readonly ExpectedRequest[],
  fits: (request: ExpectedRequest) => boolean,
): readonly ExpectedRequest[] {
  const at = requests.findIndex(fits);
  return at < 0 ? requests : requests.slice(0, at + 1);
}
