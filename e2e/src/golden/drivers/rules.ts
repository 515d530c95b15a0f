import {
  type Expected,
  type ExpectedRequest,
  failsWith,
  type Rule,
  type Situation,
  withoutServices,
} from './expected.ts';
import type { RecordedCase } from './recording.ts';

/** Differences from the original that are the same for every driver. */

/** How the core names the methods in its own texts. */
const CALLS: Readonly<Record<string, string>> = {
  CreateMachine: 'create',
  InitializeMachine: 'initialize',
  GetMachineStatus: 'status',
  DeleteMachine: 'delete',
  ListMachines: 'list',
};

/** The text as a part of a regular expression. */
export const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** How the core names a call, as a pattern. */
function callPattern({ recorded: { machine }, step: { method } }: Situation): string {
  const of = method === 'ListMachines' ? 'class class' : `machine ${escaped(machine?.name ?? '')}`;
  return `${CALLS[method] ?? method} of ${of}`;
}

/** When the caller ends a call: never, before it begins, or in the middle of it. */
export type CallerEnd = 'never' | 'before' | 'during';

/** The caller ends the call. @param endOf Whether and when it does, by the recording */
export const endedByCaller = (row: string, endOf: (recorded: RecordedCase) => CallerEnd): Rule => ({
  row,
  expect: (expected, situation) => {
    const end = endOf(situation.recorded);
    if (end === 'never' || expected.result.errorCode === null) return undefined;
    const how = end === 'before' ? 'not started' : 'canceled';
    const textMatches = new RegExp(`^${callPattern(situation)} was ${how}: the process stops$`);
    const failed = failsWith(expected, situation, 'Canceled', { textMatches });
    const metrics = end === 'before' ? withoutServices(failed.metrics) : failed.metrics;
    return { ...failed, extent: 'may end earlier', metrics };
  },
});

/** The call outlives its deadline: the original's text names the cause, ours the time. */
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

/** The driver does not have the method, so nothing is requested or counted. */
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
            textMatches: new RegExp(`^driver ${provider} has no initialize$`),
          },
          metrics: {},
        }
      : undefined,
});

/**
 * The cloud throttles. Everything except the code equals the original; `initialize` keeps `Uninitialized`.
 * @param isThrottle whether the recorded error is one
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
 * The token service is unavailable: the error requests a retry, and no other request follows.
 * @param isLogin Whether a request is for a token. @param isDown Whether its first answer is an outage.
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
      // Where the original asked again and got one, it counted other services.
      metrics: isRefused ? failed.metrics : undefined,
      extent: isRefused ? failed.extent : 'may continue',
    };
  },
});

/**
 * The original's process ended. This driver does the same until then, and continues or refuses afterwards.
 * @param codes Machine codes of the refusals.
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

/** The text of JSON as its values are written without blanks; other than the text when keys are repeated. */
const canonical = (raw: string): string => JSON.stringify(JSON.parse(raw));
const withoutBlanks = (raw: string): string => raw.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, '$1');

/** Whether the API server keeps a raw provider spec with other values: repeated keys, numbers in other forms. */
const isKeptOtherwise = ({ providerSpecRaw: raw }: RecordedCase): boolean =>
  raw !== undefined && raw !== '' && withoutBlanks(raw) !== canonical(raw);

/**
 * The API server keeps the provider spec with other values than the original was given. No recording contains the behavior of the
 * original for these errors, so only the code is compared.
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

/** Requests up to and including the first that fits. */
export function upTo(
  requests: readonly ExpectedRequest[],
  fits: (request: ExpectedRequest) => boolean,
): readonly ExpectedRequest[] {
  const at = requests.findIndex(fits);
  return at < 0 ? requests : requests.slice(0, at + 1);
}
